#include "unicode.h"
#include "json.h"

#if !defined TFNORM_NO_TOKENIZERS
/* Where a text is cut: the classes of Unicode's characters, how GPT-2 shows bytes as characters,
 * the rules by which tokenizers find the pieces that merges stay within, hash tables of strings and
 * pairs, and the names of special tokens. */

/* -- characters ------------------------------------------------------------------------------ */

/* The classes \p{L}, \p{N} and \s of all code points, made by tools/unicode.py from Unicode 14.0.0:
 * runs of code points of one class, each as the number length*4 + class. A number is written with
 * five bits a character, lowest first, as '0' + bits, and + 32 where more follow: "T1" is 36, nine
 * code points of class 0 (U+0 to U+8), "G" is 23, five of class 3 (tab to carriage return).
 * tfn__run_starts has of every 32nd run the code point where it begins, and its place in the text.
 */
static const char tfn__runs[] =
    "T1GX27l1Z1LY3HY3X17X37T15L:45<654>4m24m34Yi1@a1h1EL545T@E498A45H54=454a24]:4]AP1iD4i485HU5l8"
    "]3@Ad5]5d2Z1@94]<45l19L9Z1=85P254i3d3U;\\15h1Z1U4T19@5Di2@5T15<5l2U3L]1DQ34IT2Y5X7i6<5X25LY1"
    "@Z14Q2@Q1898i24M45<A<5P25d194=@Z198J85P1I@98i24M494949l3A45LZ18=P2U14=4i24M494E<5X25l19@Z1T1"
    "5\\1Q1898i24M494E<5h394=@Z145J\\154I<=4A<94549<9<=<a1h25d2f1X2Q14=4m24Q2<5X3=8589@Z1P1N45@Q1"
    "4=4m24Y14E<5l3949@Z149T2U14=4U585P25D=4N=@^24IDY2<Q34U1458Ml3Z1T2Q649`1MT1Z1l49454E4Q3454Y14"
    "9T158E45T1Z18AP45l3b2`1Q14a4\\3E\\>]5`25Z1HI@A<5<9L=@e1`154Z1Hi445D58]54eY14A8M454A8U54A8U44"
    "A8M454A8m14U74A8]8h1b2<Q2P2i:8I<a]28U27Y3D]9<>Q1LY2d1]2h1Y2h1e14=l1a6\\45@5<Z1HZ1h2Z1HU;LE8Y"
    "445Di8X1m3l4Z1i38E\\1a5@Y3H^1d4m2T1e6\\5Z1HZ1d15d;m5T2Q1<Z1T5i3d19Z1a5X3a4`3Z1<=Z1a48U1L]58="
    "T5A4I49<5DQHP8iR18I8i48I8Q14545454m38e64M45<=4M<A8I@e1D=4M<_1d3;D7l57P2658JD5Z1He1d<5@58Y145"
    "<EH545454A4]18ADE@54^69Fhj2b7h9j2h^2j3`]4eLHA<9T168i445D58Q7L5P2m2T1M4M4M4M4M4M4M4MP:5Pj17@9"
    "6T3V1LE8>9@i:H=4Y;4AD]54i;<BX1Q4P6Q2P4Z1h3R14n1P4Z1l4n1PX1QhIP8eaf2\\8i58eQ1<Q2Z19`2m5P2m38i"
    "8Z1l4U18m<8Q8D9454EP3Q24=4A4m2d1JX1a6h1Y6`3Z1P3I<5494Z1a3X1m2T3e3Lm5`35Z1HE4Y1Z1E4U5l2=4Q1@Z"
    "1Hm2<5<Y645<98E8545P3=8]1L=`1I8I8IT1M4M4]54i1H]>d1Z1Had[1`1m2@U6`PQ1i]18Y=h4M`1ED54Y14e14E45"
    "49494a=T4]]1X2Q88i6P5a1`>E4m@\\2Z1LY3HY3\\1U;<I8I8I8=\\4a14Y34]2494m18i1X4]?`1f5`1V7T2:`Ne3<"
    "U6P2^3@Q4BT1a26Q16Di4X1i38a4@Q14FX5iC8Z1Ha4@a4@Q5P1a6`1]14m14M494]14m14M49\\8mV1T1i2X1Q1P3I4"
    "Y54U1d8I854a549<58m28R1m28Nm3P1V1P6]249DFi2J@Y3h8Q7@:9R28j55l1A4=4e3X1V1l2e3:4e3>P4Q14a3HFP2"
    "i6X1i28R1]2DR1Y2l2NP:U9l6]6d1]6LJa4`1Z1hT1n34Y5H9h9e3Z15P1i2\\1B\\3Y2h5e2N`2m2`1e6X3j34985d1"
    "e5P4U3LZ1T1a4l1Z1@585P1]4<5`1Q6h1A\\1Z1545@b2\\1Y24U3`:M454A4m14Y1Lm5T2Z1\\1Q1898i24M494E<5X"
    "25`1EhCe6X2ADZ1D=h3Q6`2945P1Z1hDm5T5A`4Q6`25\\1Z1h4]5d15LZ1h6]3d2b1@MTGa5`>Q8^2`1Q1858Q1494Q"
    "3l1545h1Z1h8Q18m4P2545`35X1Q5L5d25\\1i5\\25X2U9lP1U14e4T25l1f3Di3P>M494i4d25T1Z1HI494Q4h15LZ"
    "1hV1]2dG5l1f2\\5Yc3h<n=T2aH`Y:U<l1mU4Tj?mX2TgQ1UW2Lm34Z1Hm94Z1Hi3X2Q6P2A`1Z14N4e2D]2Pf2Q8n2T"
    "=]9D5X8e1P8945`3QoGP1ij4X5U1llR1A4M494]T1d5=T2AP1aa1`P9]=De1<U1LY1hXFb2`=V3l@e:4m84985898A4a"
    "1454M4U84A8Q14M4a34A4E45<M4aZ18U34U34m34U34m34U34m34U34m34U34Q18Z6PP7m3Tl1e5X1M8Z1@5TX1i3X2a"
    "5@Z1hl4M4A494m14eH8V1P6a8L5@Z1lR3^74>4B`9f54n1XHA4]34945854Y14A4545H5@545454=494585454545454"
    "9458A4M4A4A454Y14U2D=4E4U2`X2f1\\l:Z1hP4QlV5P4UW@LiK8Y`Fh1UVMlS<iS2Xl5]YC";
static const int32_t tfn__run_starts[][2] = {
    { 0, 0 }, { 710, 45 }, { 1369, 86 }, { 1969, 133 }, { 2385, 180 }, { 2556, 220 },
    { 2738, 259 }, { 2918, 299 }, { 3089, 339 }, { 3295, 380 }, { 3517, 421 }, { 3782, 464 },
    { 4226, 510 }, { 4799, 550 }, { 5888, 596 }, { 6400, 646 }, { 7088, 702 }, { 8006, 750 },
    { 8189, 786 }, { 8487, 826 }, { 11558, 873 }, { 12295, 912 }, { 12896, 959 }, { 42963, 1019 },
    { 43389, 1068 }, { 43712, 1111 }, { 55243, 1157 }, { 65008, 1208 }, { 65616, 1254 },
    { 66513, 1308 }, { 67392, 1357 }, { 67828, 1405 }, { 68296, 1452 }, { 69296, 1507 },
    { 69927, 1562 }, { 70287, 1608 }, { 70751, 1654 }, { 71680, 1708 }, { 72243, 1758 },
    { 73062, 1809 }, { 92778, 1874 }, { 94208, 1926 }, { 119808, 1987 }, { 120134, 2025 },
    { 123136, 2076 }, { 126065, 2127 }, { 126537, 2166 }, { 126590, 2198 }
};

/* Read one number of tfn__runs and step over it. */
static int32_t tfn__next_run(const char **s)
{
    int32_t run = 0;
    for (int32_t shift = 0;; shift += 5) {
        const int32_t digit = **s - '0';
        ++*s;
        run |= (digit & 31) << shift;
        if (!(digit & 32)) return run;
    }
}

/* The number of the run that a code point is in: a binary search among the starts, then through 32
 * runs at most. Their lengths stand above the lowest `bits` of a number, which are returned; 0: it
 * is behind all runs. */
static int32_t tfn__run_at(const char *runs, const int32_t (*starts)[2], int32_t count, int bits,
                           int32_t c)
{
    int32_t low = 0;
    int32_t high = count;
    int32_t end;
    const char *s;
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (starts[middle][0] <= c) low = middle;
        else high = middle;
    }
    end = starts[low][0];
    s = runs + starts[low][1];
    while (*s) {
        const int32_t run = tfn__next_run(&s);
        end += run >> bits;
        if (c < end) return run & ((1 << bits) - 1);
    }
    return 0;
}

SHARED int tfn__class_beyond_ascii(int32_t c)
{
    return tfn__run_at(tfn__runs, tfn__run_starts,
                       sizeof tfn__run_starts / sizeof *tfn__run_starts, 2, c);
}

/* GPT-2 writes tokens, which are bytes, as text: each byte is shown as a character that prints. Of
 * U+0021 to U+00FF those that print show themselves; the other 68 bytes, in order, are shown as
 * U+0100 on: 0-32 as 256-288, 127-160 as 289-322, 173 as 323. So a space is U+0120, the G with a
 * dot that most tokens of a vocabulary begin with. */
static bool tfn__shows_itself(int32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 161 && byte <= 255 && byte != 173);
}

/* The character that shows a byte. */
SHARED int32_t tfn__shown(int32_t byte)
{
    if (tfn__shows_itself(byte)) return byte;
    if (byte <= 32)  return 256 + byte;
    if (byte <= 160) return 289 + (byte - 127);
    return 323;
}

/* The byte that a character shows, or -1. */
SHARED int32_t tfn__byte_shown(int32_t c)
{
    if (tfn__shows_itself(c))   return c;
    if (c >= 256 && c <= 288)   return c - 256;
    if (c >= 289 && c <= 322)   return 127 + (c - 289);
    if (c == 323)               return 173;
    return -1;
}

/* -- the normal form NFC --------------------------------------------------------------------- */

/* Unicode Standard Annex 15: an e and an accent behind it, and the one character that shows both,
 * become the same bytes. A text is cut in front of each character that begins anew: nothing before
 * it can be composed with it or change places with it. What lies between two cuts is decomposed,
 * its marks are ordered by their combining classes, and it is composed again.
 *
 * The tables are made by tools/unicode.py, which says how they are written: the runs of behavior,
 * the two parts of what has two, and the other character of what stands for another alone. */
static const char tfn__mark_runs[] =
    "PP<h=P2hCP2h=P4h;P4h=P2hCP2h=P4h;P2hS1P4hY1P4hCP6h9P2h=P8h=P6h=P4hU1P4h_1PR2h5PJh5Ph1hQ1P2h="
    "P4hGP6h5P4hY2P4h5P<hMPh<c[1d3^9d3\\3^;Z5^9Z5^GQ:^9c7j5c3j5g3c3^7c7^5P2c7^9c3d3^5c3e3f5e3f5e3"
    "cKP8j3PBj3P<h5j3h7P2h3P2h7Pb1h?Pb1h;P8h5Pf2h5P2h3P6h3P8h7PDh3Pn1h3P\\1h5P2h3P6h3P8h7P^1h5PFc"
    ";Pb3h5PJh9P4h5P4h=P4h=P4hIP4h5P^9^3c9^3c7_3^3c=^=c5^3c5_3b3c3V2W2X2Y2Z2[2\\2]2^2_4`2a2b2P2c2"
    "P2d2e2P2c3^3P2^2P`4cAj2k2l2P>h;PX2g2h2i2j2k2l2m2n2c5^5c;^3c5^3PP1o2Pn4h3P2h3PP1h3P4c?P4c9^3c"
    "3P4c5P2^3c5^3PV2P3Pl1c3^3c5^3c5^7c3^5c3^3c7^3c3^3c3^3c3^3c5PP:c?^3c3PB^3P`1c9P2cCP2c7P2c;Pf2"
    "^7Ph3c3^7c9Pd2c;^;cMP2^3c5^3c5^3c7^7g2h2i2c7^3c5^5c;Pb2h3P>h3P4h3P>S2PP1U2P6c3^3c5P6jAPh5S2P"
    "2i3PHh5U2PBi3P8j5P2j3Pl1c3PX3j3P4j3P:S2PP1U2PFj7P4j3Pj5S2PP1U2Pl6S2P2i3PBh3P4h5U2P@i5P8j5P\\"
    "3h3Pb2i3PFh7U2PBi3PX6S2PFh3P8U2P>Q3R3PZ6S2P6h3P2i3P8h5P2h5P2U2P>i5PX6U4P2i3PFh7U2PBi3PT7U2P8"
    "i3PDh3P2h7i3P`5S5U2PJT9Ph6U5U2PJV9Ph4^5Pf1^3P2^3P2\\3PBj3PBj3P8j3P8j3P8j3PHj3P>W3X3j3Y3j5P2j"
    "3P2X9P4X3j3c5U2P2c5PFj3PBj3P8j3P8j3P8j3PHj3PH^3Pn5h3P>i3P@S2P2U4PT5^3PV=i[1PT3ig1PdIc7PXk1U4"
    "Pl1U2Pj9U2PDc3Pf<b3Pn8_3c3^3Pf=c3^3P^4U2PX1cAP4^3PP3c;^=c5^3P2^5c5^5c;^3c9P^3h3P2h3P2h3P2h3P"
    "2h3P6h3PR2S2i3P:h3P2h3P4h5P2h3U2P\\2c3^3c?P\\3U4Pd3S2PFU4PV4S2P`9c7P2Q2^;c5^9c3P2Q>P8^3P<c3P"
    "6c5P\\<c5^3c?^3c5f3[3^3Z3c[2d3b5^3]3c3e3^3c3^3he9P2h3P8he5P<h]1P4h=P4h]2P4h=P4hAP2h3P2h3P2h3"
    "P2hU1j3h3j3h3j3h3j3h3j3h3j3h3j3P4h[3P2h;j3h3P2j3P4h9P2h7j3h3j3h?j3P4h;j3P2h=j3h?j3h5j5P4h7P2"
    "h7j3h3j3h3j3P4j5Pl<c5Q4c9Q6c5P8c3P6Q4c3^3c3Q4^9c3PZ3j3P6j5Pl6h5PT1h3Pl1h7PX3h3P8h3P4h3P^1h3P"
    "2h3Pd1h3P4h3P4h3P2h3P\\1h3P2h3PDh;P4h5P4h5P<h5P4h5P4h5PT2h9PP3h9P<h9Pf3j5PRk3j3PTQ1c7Pj8U2PP"
    "6cQ2PdR1]3b3d3_3`5Ph1h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P4h3P2h3P2h3P<h5P2h5P2h5P"
    "2h5P2h5P\\1h3P8T4P6h3PJh3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P4h3P2h3P2h3P<h5P2h5P2h"
    "5P2h5P2h5P\\1h3P4h9P6h3PPgj1c3P8cEPP2c5PP5c5PXAU2PZ2U2P^9U2Pf1cU1Pb3^7PZ2U2Pn5S2PHU2Pn>c3P2c"
    "5^3P4c5P:c5P2c3PX3U2P\\?U2PTaV1jm@P4j3P2j3P4jEP2j3P2j3P4j5P6jY4P4je6PV4j3f2j3PDjKP2j;P2j3P2j"
    "5P2j5P2jCPR]1c?^?c5Pjl1^3PT>^3PZ9c;PTY3^3P2c3P`2c3Q2^3P8U2PZ:c3^3PjS1c9PVHc5Pb9^5c7^3c3^9PR3"
    "c3^3c3^3PP<U2Pb2U2PLU2Pd1h3P2h3PLh3PJU2S2PZ4c7PX2i3P<h5P6U4Pl3S2Ph4U2PBS2Pd6U2S2PT;S2U2PP5S4"
    "P2i3PHh5U2PBi3PLc?P6c;Pj<U2P6S2P^1c3PR5i3PBi3h5i3h3P6U2S2Pf>i3PDh5P6U2S2Pl7U2P\\7U2S2PV7U2Pj"
    "@U2S2PZ?i3P>h3P8U4P8S2Ph9U2PV5U2PT1U2PR5U2PZJU2PT@S2P2U4PR5U2P`eV1Q:Pf3c?Pb[2R4PhZV1Q2Pn[:j?"
    "\\5Q6P6a3\\;P@^AP4c;^5Pl1c9PJj=PR8c7Pfk6c?P2cS1P4c?P2c5P2c;PZ@c?P^Gc3Pj3c9PPn2^?Pj6c=S2PZ[W4"
    "jmQ1";
static const int32_t tfn__mark_run_starts[][2] = {
    { 0, 0 }, { 358, 68 }, { 825, 139 }, { 908, 203 }, { 1155, 273 }, { 1458, 339 },
    { 1614, 405 }, { 1809, 473 }, { 2085, 540 }, { 2353, 608 }, { 2615, 676 }, { 3022, 746 },
    { 3406, 813 }, { 3917, 882 }, { 4003, 946 }, { 6110, 1021 }, { 6922, 1092 }, { 7376, 1162 },
    { 7677, 1228 }, { 8055, 1297 }, { 8172, 1362 }, { 8490, 1428 }, { 8820, 1499 },
    { 12364, 1576 }, { 12403, 1640 }, { 12478, 1705 }, { 42654, 1774 }, { 43767, 1849 },
    { 64322, 1921 }, { 69446, 1999 }, { 69939, 2069 }, { 70751, 2140 }, { 71997, 2211 },
    { 119149, 2293 }, { 125252, 2368 }
};
static const uint8_t tfn__behaviors[] = {
    0, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
    29, 30, 31, 32, 33, 34, 35, 36, 84, 91, 103, 107, 118, 122, 129, 130, 132, 202, 214, 216, 218,
    220, 222, 224, 226, 228, 230, 232, 233, 234, 240, 253, 254, 255
};
static const char tfn__parts[] =
    "P`1R7d2R4P<8@88:hB2[B<>4^j>4T7@SQ?8@88:j@2]@<>4`h>4T7n2d?d1]D@d1DT1@]_><h\\>@d1DT1@]_><X]>22"
    "Ni922b3f322V5f822LJ22RNn<8L444P1<l1<K8P1@c8844444<4<4842\\52P1d4Sn=6Jj1V46J`\\=ZZ=22>>22>>22"
    ">>22>>22>>22>>22>>22>>22>>22>>22@@>>22>>22\\5T6n3P12h:e3R4R<4Z44i34fB4]B4Vf>2]_>2Z`>2e_>2o62"
    "Rh>4o_>2<4o74`j>4Yj>2h9>_94\\24k14h@4_@4Xd>2]_>2Z`>2e_>2Q52Tf>4o_>2<4Q64bh>4[h>2j7l2fP1d1na="
    "6cZ>242hP>6\\;:o8:T:2W86kT>8]2<l\\>6cZ>242hP>6\\;:o8:T:2W86kT>8]2<\\]>22Na922b3f322f1Z222^3R"
    "622LJ22RNUf=844242<4<482@j1824242<j1<2822k32P2>V2R4P3>Bb1^4>B\\\\=`Z=22>>22>>22>>22>>22>>22>"
    ">22>>22>>22>>22>>22@@>>22>>22\\5R6n3P1171``1Xd12S3P1R4T<4\\44k34T52@2[52\\6:o58`84Q84b9442da"
    ">>kj>4^24m14V32@2]32^4:Q48b64S64d7442da>\\R?f122^1b122V1R1222i2LR4V<8bo>8Wi>:]528<V92Xa>6h7@"
    "YQ?8dm>8Wi>:_328<X72Xa>6h7b4m4@d1DT1Le2@d1DT1LU222j9f222LJ222Y4\\1R4P@8T14l`>4[_><T2<l18`<@Q"
    "C8T14l`>4[_><T2<l18`<f4Y548Nd423<Y5@D48Nd423<Y5l>\\122f3I22>n422TF`h>@P2HP1H_3@P2HP1V5m_=FHZ"
    "1EFHVo<bd<22V2V2224R3P1R4T@8T14D4L<T2<l1Ha68T14D4L<T2<l1VKnZ>22`FfI@P2HP1H_3@P2HP1f4o`=:<2Y1"
    "4_:FEJV<:<2Y14a8FZ2jU=`U=222i4^1R4\\R12hm=2__>2P`>2W_>2``>2k_>2T`>2S_>8Pa>282[Q>2`R>442@2D6h"
    "128282Ua>>h:2hm=2__>2P`>2W_>2``>2k_>2T`>:l1282[Q>2`R>442@2D6h128282Ua>P>`^>22:222l1X3V^>U322"
    "2l4f1R4X<8>6fe>2]e><><<4`j>2@2Wa>@W98>6hc>2_c><>:Rj>2ei>4bh>2@2kh>h5nd>P22Z7f222lR1Q]=H2X1n1"
    "H2JBX3V3Df<:Q=2f=242<<4:D88884G6a1:S82h8242<<4:D88884GB[9T8V822NN222U2HR4TZ?8`18L<<<`18P1@U5"
    "8`18L<<<`18P1b4m4@d1DT1Le2@d1DT1LU222j9f222LJ222F6R4Z<X1b:Ha8X1d84bb>422H6n4PE<P2d1m1<P2lj1R"
    "h1P222Y3U1R4jL4Q<242H4h<2`32m44b12e:4D2d86a72@282n6:[5>R54Q<242H4h<2`32m42P22=2e:4D2d86a72@2"
    "82n6:[5T6f5P22f;X1f=26U1>R4PP18888<86868HU18888<86868no1RV1224M<R4TP18888<86868HU18888<86868"
    "4^1>Ri1``?8P14P14P1<P1DP2@_68P14P14P1<P14X:8W98P12d1@Ri1b`?8P14P14P1<P14V:8U98P1@_68P14P14P1"
    "<P14X:8W98P1><4n4PJ<Nd1K<N@a3Z1R4PZ?2g94@2h:6W92\\:4_9282H282\\86S72@2D2`72[62D4h62S6>N2g94@"
    "2h:6W92\\:4_9282H282\\86S72@2D2`72[62D4h62S6\\Bn422LJ22292Z5TW?P22292R4PP?P222=4V5`Q124n1124"
    "2T2FV4^<2bd>2_n=4[@2\\`>6S_>2:4D8R12@28Ne72db>2_n=4[@2\\`>6S_>2:4D8R12@282P1:R4X@8X18\\1<h;<"
    "_7Hi68X18\\1<h;<_7:Q1<X4TQ?2<>X24L<\\22<NU62<>X24L<\\22<292`4dR?P224F6Z4dQ?8T1H`4P1a58T1H`42"
    "`1AT4\\P?4@>\\22<4L8\\14P1<\\2@i84@8^86Q62<4L8\\14P1<\\2>a3\\1h3lVA2K2NTe@Y=424V1h3n14441n2"
    "\\3::66`1`144^1f1>64664:X2X1E6L22J62266226>222n522:i5226622Db522P1]3<22242>f3222222171j]Eh]E"
    "Da2M`:Rl?b`1E<P14P1HP18P12m12P1Zc=Q>22>>22^1^122>>22>>22>>22^1^122@@>>22>>22\\5P6n3P16j4o1Ri"
    "1hk?<P1T1P36_44P16Q1<P1T1P3:2Tc=W7222222222222222222222222222222R122222222222222222222222222"
    "22222R32222222222222222222222222222222268P1@P3d3e3P1P1P3P3oV181bm2jam37;2Pm2lbm3T2M381Pm2nbm"
    "3381Zm2fdm37b1FPm2Pcm32222222222224422222222444422442244222222227<3Rm2hdm3D2B25=2bn2dbm3Pfj3"
    "43=2bn2fbm3Pfj34R971^R3TR32G6^R3VR3R2244^7h9R1R16U1271^R3ZR3^^1;3`b4bb4@@661E8Za4`e42222:2:2"
    "22B282Q8;3Rj4hm422J4471^l4fl4b171^l4hl4[6B6\\Q5bU522:2N6>e2<6Q@92Rb5he522471^d5fd5`171^d5`d5"
    "271^d5hd5^692\\l5dl522b1;2Ti5Xi5X3`3n771\\T6`T6h671\\\\6d\\6V1;3n[6P\\6>>88271\\\\6`\\6`692"
    "\\d6dd622b171\\d6hd6V792bm6dm666:71bm6hm6P171bm6lm6WI71Rg7Vg7571Rg7Zg7I<3Rg7Rh7R4E24[3;2Pd7b"
    "f7P5P55K:Td7Vd7DD::::::^3^3DD::::::^771ZR8\\R8^`5M;Z`=\\`=4444444488b2b244462264Xf:]3`1\\THX"
    "YH:_44444444444444444444444664444>>66666666T2T2B\\5:_44444444444444444444444664444>>66666666"
    "X1f1222222F82K:nVHRWH66666666X5X566666666PR`3=3bYX4dYX444DNj6;2RcX4lbX422^Q191^dY4fdY4b191^d"
    "Y4hdY4bE91b[Z4h[Z4D91b[Z4f[Z4691b[Z4l[Z4T?;2`kZ4dkZ422Rh191Zc\\4`c\\4[Sl2A4^eX7leX722R6h522C"
    "?3neX7PfX7h5j5223?3neX7RfX7h5l522391neX7TfX7391neX7VfX7391neX7XfX7";
static const char tfn__alone[] =
    "1Te3[P1P`1Pd122T14c5R3kW1Dh7BZ_1dn=242424j142424_4l3V36Q3F24>@;@\\2@S2@A6Yb12hb1D64e]14ld?62"
    "2cU>ZBke18d72VdGlO22nS^1\\mZ3WeB2\\mC2SP12]o>2mY@2Vk22^kU1202eTS12PXL2cTN2Rl12lZ42VW:2ha42d["
    "32fG2lC2^i32iXC2ba12lk12Z`12nU82jb62^X42mfU12V_22nh;2^a32TQ:2Ro;2k\\P12fY92Tn:2^i12eYC2n`?2^"
    "T32YeD2jT42VU32Ti22Tm>2_dP12RS12^B2\\n82nP32jc32^]22da42ZP32\\52Vi32Vd42jS22fX12kfB2V?2RR22b"
    "R32fc72fg52aj92]oH2ZR32he>2lQ22gQ72`V32`o92ZS52mQO2dh12Rk62^l12ZC2PR72`@2XQ<2agQ12bkF2mZG2O2"
    "PUD2Tj12VS32XX92Y_52Q[D2Vc32h_@2Y\\N2lj62fR22Zg92bN2aUA2XnB2gcD2dn72gi82n[?2We32dj;2meD2fY22"
    "VZ?2`d62RV32o^?2\\oA2_bA2ch42^n?2Yd?2Zl82][C2f[12P62`[;2\\V:2`h22VV42j_32c]O2jD2Rc22bg22b]32"
    "bS52hb42VX>2j[22jR22^32USV12fR:2R[22fnA2k^H2ha12P72dY12bX52\\R12Pd12Rd22dR22fW12^[72_S52Zc52"
    "^b12UcP12h82dQ12fP>2do;2`N2QnE2hB2\\h12VS42PY82a\\42QYB2ZQ42l^22VM2TV12\\i92^;2Rc52h:2ln82T"
    "\\22T52P=2iXT12VRE2\\P<2X`22]mJ2eU92XU12Xa52R52de42bV22hl32XW22d[72Ph52Ra72Y`L2\\jG2YjQ12T_:"
    "2`72ld22fE2jf22PE2Ta12ZZ22ld=2Q_S12R\\82dTJ2iTS12l^62R]82Pd@2miG2bK2V]32Pg52n_A2iUR12\\N2\\U"
    "42lj42fC2dE2jS22Rb32hM2^i42\\e42T12f^42\\a22UjQ12fg=2iY=2Vk>2`\\12Tf82bZ82Xk22`T12_`K2XS32jQ"
    ":2ia32Z52TG2Sm42]R12n[=2_YN2\\WJ2g_H2U32nY62jR22VP=2Qe@2bi82cV32^XD2m^32RP72S\\62_[E2Ui62PX2"
    "2dY16dQ74[Y:6hd@2Pj12TW12T22>2d22^l>2_Y=2n_12ZU34\\^24Pd26Z<2To38J2h22hX22[]62bm22a`S12bC2\\"
    "62hG2f12j62hT12b62T62`M2`62hk12D2\\R22X=2\\22X62je12V92n:2XO2T_22V:2`@2hT12j;2^O2nV22j:2F212"
    "@2<2>2P3222T;2R42nC2XS12Z12`32RC2V92`N2h8202lM2b[22\\82fF2`32dI2Z32lZ12T82fZ32hA2h32[lK2bWa7"
    "2[]P72SoI6nh12i42_N2ZL2f32^D2V32VZ12_42X42b42`W12b52R92P12l@2\\<2dj12>2P92X42fB2\\72[42\\82k"
    "22T92T42PI2`52\\32X@2lA2V:282f32VR22R42^H2dI2O2^52h?2PE2bS32Sg22d72f72^D2Z92Z32T>242f:2R12b1"
    "2\\52C2hH2ZN2n@2f;2P>2b92dD2^<2jd12j92dh12`L2Z42P12bB2b32i22\\3252Q12h42R52lG2PS12dC2^B2j=2"
    "\\P22^62V72Z82X22H2P32^]12dX22lZT62;2Ri52_Sl72fW22R22PQY82^X52VPA2oh_72f42QeX1^bn792B2R^i62S"
    "lh62l42J2^42`72n12l42_12QS>2hiX72i^j62>2P12V12Zji62UVX72lZ>2\\22lki62Wki62J2_]12P^12B2dRP92c"
    "no82L2Wb>2he>2F2h22:2Sf>2Tk>242f12\\12F222R12T32@2B2b12D2420202jZk62gk\\62[Z>2Z12Xhk62_gk62<"
    "2Z12`92[62P12P22d32X52d12V42P12R2202Z12T12@2N2XE2o@2RA2[<2V22iV22^^32oA2\\22b12S82^:212f72`S"
    "n62Som62:2N2X12@2P42\\dn62T42k_n62n22H2m42l82_gA2L2hPB2\\3202dXo62YPo62Z12N2H2Zbo62aao62>2jd"
    "12Qc12QZB2n]B2L2T52U32^eP72QZP72VZP72_WP7252R12Z6222UkB2llB2f22Z12h22]PC2Rbd72]`d72XSC26262X"
    "12`\\R92WYR92VSR7202ob`62m]A202eUC2Rol72TbG2_WQ82B2_XC2^[C2V32D2T22`82]dC2k12`gC2PTS72iPS72R"
    "82824232l22X12X22K2F2n22X1282d12F2T42X52V22h72hkS72mlS72Q42h62f12R62jPT72mlS72i52g12egD2fSE2"
    "Z12n12[22ePE2V^E2j12lYU72]RU72ZA2m:2obE2`gE2ahE2W22lZ;262ff:2W62RQ=2W]N2lcA282<2j32E2PWV72cW"
    "l72R[F2Y72j<2V32`nU72mmU72m62Z?2]gF2ZjF2R62^42l;2foU72_lU72U\\G2b`G2\\hV72UeV72[`G2XbG2j22f1"
    "222T]W72Sh>2nn>2gZW72lVX72ioW72L2[62n:2`22b32[32`22N2J2biW72cnW72f?2n32ecH2`iH272dPX72_]X72Z"
    "G2PoW72P32_lW72V72e1252YXI2X[I2V32;2\\32`WZ62omY62laX72]\\X72nPY72UhX72J2f12`kY72_hY72Z12PZZ"
    "72n=2cYZ72R12m]J2b_J2i^J202nhJ2Z12Z12X12Z42mjJ2bPK2Ta[72__[72Xe[72Sb[72nRf62mhe62Ri\\72^12h8"
    "2_TX82H2h^K2no\\7212^22d12YQ]722202f22QaK2TeK2YdK2P52^hY82ml]72l32P42anK2VdZ82o\\^72Xd^72f22"
    "[c^72h52g[L2RaL2D2:2jb_72fB202ak_72g^L2bj\\82Yn_7262SjL2bU]82kj_72SSM2`TM292j12\\Xa72URa72SV"
    "M2\\\\M2f32V42QaM2X__82n12k^_82Ph_82mea72Xla72aja72Z62F2Z]b72b42U\\b72`db72_cb72n^i62chg72j]"
    "N2R52__N2VcN2aXC2T_V82L2SRJ2B2eih6262di62UcU12\\RO2;2T12cnG2loG242D2b22\\Ud72]Ud72`32\\42d42"
    "c82d92d22P72W@2^7242P12dUd72ZC2[92cjc82\\lO242V22X[g72[Vg72`ld72mld8282PUe82RB2]fe82Z^P12H2F"
    "242P42Q22\\82g22^92Q52V42f12mjP12dPQ12P22_PQ12^VQ1262XPg72ohf72>2aZQ12Z\\Q12mSZ12VoQ92`;2_Zi"
    "82B2bmQ12j42j92f<2VUh72iog72\\12d52h52`kh72ebk12aSm52M2X32l^m52cPm52X62dYk72f12aej72j52P22jQ"
    "k72UQk72jA2n9222g52jG2h12Znk72mVk72[oU12TRV12Plk72QiQ92j]V12QaL2RgL2TRm72Z=2gjS92@2dfV12dRn7"
    "2_eT92XnT92eXn7202l12jhn72W]n72mjV12\\oV12l72f12h32oRW12TfW92kQP82lB2j;2mRX12n12dWX12^fQ82[m"
    "Y92jPZ92b@2V82[mQ82YfX12VjX12:2>2D2>2Z22Z\\S82";

SHARED bool tfn__same(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

TFN__SMALL

/* How a character behaves, if it is not of a combining class from 1 to 240. */
enum { TFN__NEW = 0, TFN__NEW_DECOMPOSES = 253, TFN__JOINS = 254, TFN__CHANGES = 255 };

static int tfn__behavior(int32_t c)
{
    if (c < 0xc0) return TFN__NEW;
    return tfn__behaviors[tfn__run_at(tfn__mark_runs, tfn__mark_run_starts,
                                      sizeof tfn__mark_run_starts / sizeof *tfn__mark_run_starts,
                                      6, c)];
}
static bool tfn__begins_anew(int behavior)
{
    return behavior == TFN__NEW || behavior == TFN__NEW_DECOMPOSES;
}

/* Whether a text surely stays as it is. Below U+0300 all begins anew, and so needs no look: these
 * are the bytes below CC, and what is behind them. */
SHARED bool tfn__is_nfc(const uint8_t *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        int32_t c;
        if (s[at] < 0xcc) {
            at++;
            continue;
        }
        at += tfn__utf8(s + at, n - at, &c);
        if (!tfn__begins_anew(tfn__behavior(c))) return false;
    }
    return true;
}

/* Reading tfn__parts or tfn__alone: an entry says that `whole` is `first` and `second`, or with 0
 * as second that it is `first` alone. */
typedef struct tfn__parts_reader {
    const char *s;
    int32_t left, first, second, whole;         /* left: entries of this group */
    bool    never;                              /* they are not composed */
} tfn__parts_reader;

static int32_t tfn__next_signed(const char **s)
{
    const int32_t d = tfn__next_run(s);
    if (d & 1) return -(d >> 1) - 1;
    return d >> 1;
}

/* Step into the next group; returns how many characters it has, 0: there is none. */
static int32_t tfn__next_parts(tfn__parts_reader *p)
{
    int32_t head;
    int32_t length;
    const char *begin;
    if (!*p->s) return 0;
    head = tfn__next_run(&p->s);
    length = tfn__next_run(&p->s);
    begin = p->s;
    p->second += head >> 1;
    p->never = head & 1;
    p->left = tfn__next_run(&p->s);
    p->first = p->whole = 0;
    return length - (int32_t)(p->s - begin);
}
static bool tfn__next_whole(tfn__parts_reader *p)
{
    if (!p->left) return false;
    p->first += tfn__next_signed(&p->s);
    p->whole += tfn__next_signed(&p->s);
    p->left--;
    return true;
}

/* Hangul: 19 leading consonants from U+1100 on, 21 vowels from U+1161, 27 trailing consonants from
 * U+11A8, and all their syllables from U+AC00 (The Unicode Standard, 3.12). */
enum { TFN__SYLLABLE = 0xac00, TFN__LEADING = 0x1100, TFN__VOWEL = 0x1161, TFN__TRAILING = 0x11a7,
       TFN__VOWELS = 21, TFN__TRAILINGS = 28, TFN__SYLLABLES = 11172 };

/* Look a character up in one of the two tables. */
static bool tfn__find_parts(const char *table, int32_t c, int32_t *first, int32_t *second)
{
    tfn__parts_reader p = { table, 0, 0, 0, 0, false };
    while (tfn__next_parts(&p))
        while (tfn__next_whole(&p)) {
            if (p.whole != c) continue;
            *first = p.first;
            *second = p.second;
            return true;
        }
    return false;
}

/* The two parts of a character, of which *second may be 0; false: it has none. */
static bool tfn__parts_of(int32_t c, int32_t *first, int32_t *second)
{
    const int32_t syllable = c - TFN__SYLLABLE;
    const int behavior = tfn__behavior(c);
    if (syllable >= 0 && syllable < TFN__SYLLABLES) {
        const int32_t trailing = syllable % TFN__TRAILINGS;
        *first = c - trailing;
        *second = TFN__TRAILING + trailing;
        if (trailing) return true;
        *first = TFN__LEADING + syllable / (TFN__VOWELS * TFN__TRAILINGS);
        *second = TFN__VOWEL + syllable / TFN__TRAILINGS % TFN__VOWELS;
        return true;
    }
    if (behavior != TFN__NEW_DECOMPOSES && behavior != TFN__CHANGES) return false;
    return tfn__find_parts(tfn__parts, c, first, second)
           || tfn__find_parts(tfn__alone, c, first, second);
}

/* What two characters are together; -1: two. */
static int32_t tfn__composed(int32_t first, int32_t second)
{
    tfn__parts_reader p = { tfn__parts, 0, 0, 0, 0, false };
    const int32_t leading = first - TFN__LEADING;
    const int32_t vowel = second - TFN__VOWEL;
    const int32_t trailing = second - TFN__TRAILING;
    const int32_t syllable = first - TFN__SYLLABLE;
    if (leading >= 0 && leading < 19 && vowel >= 0 && vowel < TFN__VOWELS)
        return TFN__SYLLABLE + (leading * TFN__VOWELS + vowel) * TFN__TRAILINGS;
    if (syllable >= 0 && syllable < TFN__SYLLABLES && syllable % TFN__TRAILINGS == 0
        && trailing > 0 && trailing < TFN__TRAILINGS) return first + trailing;
    for (;;) {
        const int32_t length = tfn__next_parts(&p);
        if (length == 0) return -1;
        if (p.second != second || p.never) {
            p.s += length;
            continue;
        }
        while (tfn__next_whole(&p))
            if (p.first == first) return p.whole;
    }
}

/* What lies between two cuts, decomposed and in order. Longer ones than this, of more marks than
 * any language has, are cut once more: Unicode's "Stream-Safe Text Format" allows 30. */
enum { TFN__MOST_MARKS = 128 };
typedef struct tfn__cluster {
    tfn__text to;
    const uint8_t *s;                           /* the n bytes of the text before */
    size_t  bytes;
    bool    same;                               /* up to here it stays as it is */
    int32_t whole;                              /* a character that nothing came behind yet, -1 */
    int32_t n, c[TFN__MOST_MARKS], rank[TFN__MOST_MARKS];       /* rank: combining class */
} tfn__cluster;

static void tfn__cluster_put(tfn__cluster *u, const uint8_t *s, size_t n)
{
    const size_t at = u->to.used;
    if (u->same) u->same = at + n <= u->bytes && tfn__same(u->s + at, s, n);
    tfn__put_bytes(&u->to, s, n);
}
static void tfn__cluster_code(tfn__cluster *u, int32_t c)
{
    uint8_t s[4];
    tfn__cluster_put(u, s, tfn__put_utf8(s, c));
}

/* Compose: a mark joins the last that is none, unless a mark of its class or above is between. */
static void tfn__end_cluster(tfn__cluster *u)
{
    int32_t starter = -1;                       /* its place among those that stay */
    int32_t last = -1;                          /* the class of what is between; -1: nothing */
    int32_t stay = 0;
    if (u->whole >= 0) tfn__cluster_code(u, u->whole);
    for (int32_t i = 0; i < u->n; i++) {
        int32_t both = -1;
        if (starter >= 0 && last < u->rank[i]) both = tfn__composed(u->c[starter], u->c[i]);
        if (both >= 0) {
            u->c[starter] = both;
            continue;
        }
        last = u->rank[i];
        if (last == 0) {
            starter = stay;
            last = -1;
        }
        u->c[stay++] = u->c[i];
    }
    for (int32_t i = 0; i < stay; i++) tfn__cluster_code(u, u->c[i]);
    u->n = 0;
    u->whole = -1;
}

/* Decompose a character, and put its parts behind those of a lower or the same class. */
static void tfn__add_parts(tfn__cluster *u, int32_t c)
{
    int32_t first;
    int32_t second;
    int32_t at = u->n;
    int rank;
    if (tfn__parts_of(c, &first, &second)) {
        tfn__add_parts(u, first);
        if (second) tfn__add_parts(u, second);
        return;
    }
    if (u->n == TFN__MOST_MARKS) {
        tfn__end_cluster(u);
        at = 0;
    }
    rank = tfn__behavior(c);
    if (rank >= TFN__NEW_DECOMPOSES) rank = 0;
    for (; at > 0; at--) {                      /* nothing goes in front of a rank of 0 */
        if (rank == 0 || u->rank[at - 1] <= rank) break;
        u->c[at] = u->c[at - 1];
        u->rank[at] = u->rank[at - 1];
    }
    u->c[at] = c;
    u->rank[at] = rank;
    u->n++;
}

/* A text in NFC: returns its bytes, at most three for one, and stores those that there is room for;
 * *same: it was before. Bytes that are not UTF-8 stay. A mark costs a search through the tables, a
 * microsecond or more, so texts without any do not come here. */
SHARED size_t tfn__put_nfc(uint8_t *to, size_t room, bool *same, const uint8_t *s, size_t n)
{
    tfn__cluster u;
    u.to = tfn__text_in(to, room);
    u.s = s;
    u.bytes = n;
    u.same = true;
    u.whole = -1;
    u.n = 0;
    for (size_t at = 0; at < n;) {
        int32_t c;
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (c < 0 || tfn__begins_anew(tfn__behavior(c))) {
            tfn__end_cluster(&u);
            u.whole = c;
            if (c < 0) tfn__cluster_put(&u, s + at, 1);
        } else {
            if (u.whole >= 0) tfn__add_parts(&u, u.whole);
            u.whole = -1;
            tfn__add_parts(&u, c);
        }
        at += bytes;
    }
    tfn__end_cluster(&u);
    *same = u.same && u.to.used == n;
    return u.to.used;
}
TFN__SMALL_END

/* -- BERT's normal form ---------------------------------------------------------------------- */
enum { TFN__EVEN_CAPITALS = 1, TFN__ODD_CAPITALS };
static const char tfn__trait_runs[] =
    "S44m1X1MX3IX3AW445D5<547P19<5<5PX2R>h15P15\\OFXJIT59Hf5565:5:56\\59\\1K<9498^157=\\5f2X1A86"
    "\\<54N74J8:4BX2i14746h3^3\\;^1X7V1<=<6P3B4V14>4F8m1X3>85T6;HR1X5R37R4l6646@R1@6<NX1:9X15P26X"
    "76@BP16`2:T3568:T76@:@:8><6h3:<65X1:T76@F4:@6`2:`15T1J46X76864BP16L:\\1:h36d76`16X66<6l664>D"
    ">4BL:\\1:\\25T1685l6686H6D:`2:`3:T7:@BP16`2:d36P96L>46d35`768N`1R15X19d:68V1\\1Jh6m145<:\\36"
    "4646A\\6j14F5:D^14b4T16T1E@9X:B4J4:8:\\1IP1:@>P2Bd168:H6l16d;5T\\2>U1lB5d]25`59h9=`4>d3:49\\"
    "3:h3:P8:4NP168^1=4=86X4]1>76d>:X46h>>@:T16H>P19TJ:8689h664N46468R1HZ186P4M4I8j14R2T6BP664F46"
    "D6l2MX1V1T194:P4B8:4>P764:<64>X1A`5R18:<Eh79P8Q1P1>5f14N@6H6<:hHR8\\Q2GQ38G4a24e14a14G4[1d19"
    "h19T8f1@6<b1lR2Ad39dW4i1l99l3Y1\\b1i2l7AP49Tn2>LA49P>5h16P<R4m54Q48a1\\d1=@Y18a1X1B85`15\\;:"
    "D5X;5XPd39dQ1=l;6<5Z15l3:P::IXQ16<6@6T3:D6l8A`9:P19P2Z2H=4586h4R19l2^1d15P4>P668B8:<e1P29D6"
    "\\8J8:8:`16P16l1A`36\\664>8:D:46`39`1:89@6hM6868546XRd1SPIhS26lS29PHR2Y1HR2]44i145@549\\B74="
    "4I4AX19<9X3=45\\35454M\\B?`P1=XO6XL6dBF`45P65hc15ll25lH5l35TH>4:DBP5>@6P2U1h45d<:T1MX8MT;Al`"
    "1B\\`1:5PC^1@EP5BAl>6h6n1MX468:X1>T6B8:97A6X17X6>`4F4R1\\1Al569X1:`6V1HAB546\\154=l9>864:I6X"
    "=5d66<R1d2:T7:<6d4N<F\\HR18>46@EX19456`:J46@:4:85\\MBH:4:m2@:d:R1864:=`3e1h76468J4645\\<>8B4"
    "FP2=PNV14:5lO:46@6=dAB8:@645h3Z1P5J8BQ16T1J8>h5f14:=4Eda1N4J464EX59P4j28N4:4:X?J<64:4N46P9:<"
    "646\\[1:89hP15P^4E`_;9dW4W1dVf19P@F5X7NEP15XZ3A`F6l7Bl9546Pg\\2:5C`[Bj58n2PT2>T1S1R18Nh3B`B>"
    "\\g7n6@Z6P16h168El1F4n1PZ5N4V28N4:4FdP1Nl^16d7BPl5Nd=N\\29TdfP37h3S<P@RNPRn7koo78koo7";
static const int32_t tfn__trait_run_starts[][2] = {
    { 0, 0 }, { 1160, 45 }, { 1648, 86 }, { 2084, 129 }, { 2416, 172 }, { 2689, 212 },
    { 3008, 253 }, { 3276, 292 }, { 3676, 336 }, { 4048, 380 }, { 4969, 422 }, { 6144, 467 },
    { 6755, 507 }, { 7042, 550 }, { 7401, 592 }, { 8421, 637 }, { 11856, 692 }, { 42656, 741 },
    { 43346, 786 }, { 43697, 829 }, { 65040, 875 }, { 65374, 915 }, { 68155, 963 },
    { 69744, 1013 }, { 70089, 1056 }, { 70517, 1096 }, { 71134, 1134 }, { 71740, 1175 },
    { 72349, 1216 }, { 73106, 1255 }, { 94099, 1308 }, { 121479, 1361 }, { 917760, 1414 }
};
static const char tfn__small_runs[] =
    "PT8SX3Pd<Sl2P4SLPT4Ql5P<QDP8Rl1P8Qd5P4T4RDP<U4Q<P4V4R4P4W8R4P8X4Y4Z4R4P4W4[4P4\\4]4Q4P<\\4^4"
    "P4_4QDP4`4R4P4`4P8Q4P4`4R4P4a8R<P4b4Q4P<Q4PLc4R4P4c4Q4P4c4RT2P8QT2P8c4Q<P4d4e4Ql4P4f4P4QT2PL"
    "g4R4P4h4i4P8R4P4j4k4l4QT1PTT1Q<P<Q4PP1m4PHn4P4o<P4P5P4Q9P4ST2P4ST1P\\4R5PP1Ql2PDS5P8R4P4T5Q4"
    "P8f<UQ2SP4PP6QT4PT1Qd6P4V5Rd1P8Ql;P8Wi4PTY;Xi4P4X5PDX5PXj2YQ:RIPXc8Z]5P8Z=PPX1QdBPT1[5P4Ql;P"
    "T1\\Q1PP1\\IPX1\\Q1PP1\\Q1PP1\\IP\\1\\5P4\\5P4\\5P4\\5PP1\\Q1PP3\\Q1PP1\\Q1PP1\\Q1PP1\\9]9^5"
    "P\\1_A^5P\\1\\9`9P`1\\9a9T5P\\1b9c9^5PTU1d5P<e5f5PHg5Pd5hQ2P\\2R4PXV3iY3PPV7WQ6PP6Q4P4j5k5l5"
    "P8RDP4m5n5o5P6P4Q4P8R4PP1Q:Q\\<PP1R<P@Q4PdYi3Qd5P\\2Q\\3Pl@Qd1P<Qd7PX1R<P4R6QT1P@R4P4S6P8Q<P"
    "<Q\\2P4T6U6V6W6T6P4X6Y6Z6[6Ql1P4\\6]6^6R<PHQ4PDQ<P`3R4P\\Ug2SX3Pdh4_R5PPA_b4P`C`^1P4`n1P4`NP"
    "4`:PXm6P]6Pdm;SP4PP`e2SP4PPdj3aZ4";
static const int32_t tfn__small_run_starts[][2] = {
    { 0, 0 }, { 403, 72 }, { 453, 136 }, { 582, 204 }, { 1024, 277 }, { 7935, 364 },
    { 8140, 447 }, { 11364, 526 }, { 42887, 604 }, { 65313, 674 }
};
static const int32_t tfn__small_deltas[] = {
    0, 0, 0, 32, -121, 210, 206, 205, 79, 202, 203, 207, 211, 209, 213, 214, 218, 217, 219, 2,
    -97, -56, -130, 10795, -163, 10792, -195, 69, 71, 116, 38, 37, 64, 63, 8, -60, -7, 80, 15, 48,
    7264, 38864, -3008, -7615, -8, -74, -9, -86, -100, -112, -128, -126, -7517, -8383, -8262, 28,
    16, 26, -10743, -3814, -10727, -10780, -10749, -10783, -10782, -10815, -35332, -42280, -42308,
    -42319, -42315, -42305, -42258, -42282, -42261, 928, -48, -42307, -35384, 40, 39, 34
};

SHARED int tfn__trait(int32_t c)
{
    if (c < 0 || c == ' ') return TFN__PLAIN;
    if (c < 128 && (tfn__class(c) == TFN__LETTER || tfn__class(c) == TFN__NUMBER))
        return TFN__PLAIN;
    return tfn__run_at(tfn__trait_runs, tfn__trait_run_starts,
                       sizeof tfn__trait_run_starts / sizeof *tfn__trait_run_starts, 2, c);
}

/* The small letter of a capital; other characters stay. */
static int32_t tfn__small_letter(int32_t c)
{
    int32_t index;
    if (c < 'A') return c;
    index = tfn__run_at(tfn__small_runs, tfn__small_run_starts,
                        sizeof tfn__small_run_starts / sizeof *tfn__small_run_starts, 7, c);
    if (index == TFN__EVEN_CAPITALS) return c | 1;
    if (index == TFN__ODD_CAPITALS)  return c + (c & 1);
    return c + tfn__small_deltas[index];
}

/* Whether BERT takes a character for Chinese: the ideographs, of Japanese and Korean too. */
static bool tfn__is_chinese(int32_t c)
{
    static const int32_t blocks[][2] = { { 0x3400, 0x4dbf }, { 0x4e00, 0x9fff },
        { 0xf900, 0xfaff }, { 0x20000, 0x2a6df }, { 0x2a700, 0x2b73f }, { 0x2b740, 0x2b81f },
        { 0x2b820, 0x2ceaf }, { 0x2f800, 0x2fa1f } };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c >= blocks[i][0] && c <= blocks[i][1]) return true;
    return false;
}

/* The last step. U+0130, a capital i with a dot, becomes an i and a dot: the only capital whose
 * small form is two characters. */
static void tfn__put_small(tfn__text *t, int32_t c, int32_t steps)
{
    if (steps & TFN_NORMALIZER_LOWERCASE) {
        if (c == 0x130) tfn__put_code(t, 'i');
        c = tfn__small_letter(c);
        if (c == 0x130) c = 0x307;
    }
    tfn__put_code(t, c);
}

/* Take its accents off a character: of its parts those that are none. */
static void tfn__put_bare(tfn__text *t, int32_t c, int32_t steps)
{
    int32_t first;
    int32_t second;
    if (!(steps & TFN_NORMALIZER_ACCENTS)) tfn__put_small(t, c, steps);
    else if (tfn__parts_of(c, &first, &second)) {
        tfn__put_bare(t, first, steps);
        if (second) tfn__put_bare(t, second, steps);
    } else if (tfn__trait(c) != TFN__ACCENT) tfn__put_small(t, c, steps);
}

/* One character, -1 a byte that is no UTF-8, which is dropped like U+FFFD, what others show it as.
 * Most are ASCII that prints: these need no look at what they are. */
static void tfn__put_cleaned(tfn__text *t, int32_t c, int32_t steps)
{
    const bool clean = steps & TFN_NORMALIZER_CLEAN;
    if (c >= ' ' && c < 0x7f) tfn__put_small(t, c, steps);
    else if (clean && (c == '\t' || c == '\n' || c == '\r')) tfn__put_code(t, ' ');
    else if (clean && (c <= 0 || c == 0xfffd || tfn__trait(c) == TFN__CONTROL)) return;
    else if (c < 0) return;
    else if (clean && tfn__class(c) == TFN__WHITE) tfn__put_code(t, ' ');
    else if (steps & TFN_NORMALIZER_CHINESE && tfn__is_chinese(c)) {
        tfn__put_code(t, ' ');
        tfn__put_bare(t, c, steps);
        tfn__put_code(t, ' ');
    } else tfn__put_bare(t, c, steps);
}

/* A text after these steps, as tfn__put_nfc: at most three bytes for one. Hangul grows most: its
 * syllables, of three bytes, have two or three parts of three bytes each, which BERT's vocabularies
 * have as tokens. */
SHARED size_t tfn__put_bert(uint8_t *to, size_t room, const uint8_t *s, size_t n, int32_t steps)
{
    tfn__text t = tfn__text_in(to, room);
    for (size_t at = 0; at < n;) {
        int32_t c;
        at += tfn__utf8(s + at, n - at, &c);
        tfn__put_cleaned(&t, c, steps);
    }
    return t.used;
}

/* -- SentencePiece's normal form ------------------------------------------------------------- */

/* Kudo and Richardson 2018: a text is one piece, its spaces are shown as U+2581, and characters are
 * replaced by a table that comes with the model: mostly Unicode's NFKC, by which "fi" is two
 * letters where it was one character.
 *
 * The table is a trie of what is replaced, a "double array" of numbers of four bytes, lowest first,
 * behind their size in bytes; then the replacements, each with a zero. From the number u of a node
 * the next byte c leads to the number at offset(u) ^ c, if that says that it belongs to c; bit 8
 * says that what was read so far is replaced, and the number at the next offset by what. */
SHARED const uint8_t tfn__mark[3] = { 0xe2, 0x96, 0x81 };

/* A set of bytes, a bit each. */
SHARED void tfn__set_byte(uint32_t *set, uint8_t byte)
{
    set[byte >> 5] |= (uint32_t)1 << (byte & 31);
}
SHARED bool tfn__has_byte(const uint32_t *set, uint8_t byte)
{
    return set[byte >> 5] >> (byte & 31) & 1;
}

SHARED uint32_t tfn__map_unit(const uint8_t *map, size_t i)
{
    const uint8_t *s = map + 4*i;
    return (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}
static uint32_t tfn__map_offset(uint32_t unit)
{
    return unit >> 10 << ((unit & 0x200) >> 6);
}

/* For example: the offset of unit 0, the root, is 256, so that of "e" (0x65) the unit 256 ^ 0x65 is
 * asked: its label must be 0x65. If its bit 8 is set, "e" is replaced; in any case its own offset
 * leads on to "e" and an accent, of two bytes, and so to one character for the two.
 *
 * The longest beginning of the n bytes at s that is replaced: how long it is, 0: none; *value:
 * where its replacement stands; *read: how many bytes of s something that is replaced begins with.
 * Files are hostile: a number beyond `units` ends the search. */
SHARED size_t tfn__map_match(const uint8_t *map, size_t units, const uint8_t *s, size_t n,
                             size_t *value, size_t *read)
{
    size_t found = 0;
    uint32_t at;
    *read = 0;
    if (!units) return 0;
    at = tfn__map_offset(tfn__map_unit(map, 0));
    for (size_t i = 0; i < n; i++) {
        uint32_t unit;
        at ^= s[i];
        if (at >= units || !s[i]) break;
        unit = tfn__map_unit(map, at);
        if ((unit & 0x800000ff) != s[i]) break;
        *read = i + 1;
        at ^= tfn__map_offset(unit);
        if (!(unit & 0x100)) continue;
        if (at >= units) break;
        *value = tfn__map_unit(map, at) & 0x7fffffff;
        found = i + 1;
    }
    return found;
}

/* Whether anything that is replaced is this byte of ASCII, or goes on behind it with ASCII: an "e"
 * does not, but with an accent behind it, which is none. */
SHARED bool tfn__map_begins(const uint8_t *map, size_t units, uint8_t byte)
{
    uint8_t s[2] = { byte, 0 };
    size_t value, read;
    for (; s[1] < 0x80; s[1]++)
        if (tfn__map_match(map, units, s, 2, &value, &read) || read == 2) return true;
    return false;
}

static void tfn__put_space(tfn__spacer *p)
{
    if (p->steps & TFN_NORMALIZER_MARKS) tfn__put_bytes(&p->to, tfn__mark, sizeof tfn__mark);
    else tfn__put(&p->to, " ");
}

/* Write those that were held back, and at the begin the one more. is_mark: U+2581 follows, which is
 * a space already. */
static void tfn__put_spaces(tfn__spacer *p, bool is_mark)
{
    const int32_t steps = p->steps;
    bool prefix = !p->begun && steps & TFN_NORMALIZER_PREFIX;
    size_t spaces = p->spaces;
    if (!p->begun && steps & TFN_NORMALIZER_LEFT) spaces = 0;
    if (spaces > 1 && steps & TFN_NORMALIZER_COLLAPSE) spaces = 1;
    if (is_mark && steps & TFN_NORMALIZER_WORDS) spaces = 0;
    if (steps & TFN_NORMALIZER_NEEDED && (spaces || is_mark)) prefix = false;
    if (prefix) tfn__put_space(p);
    for (; spaces > 0; spaces--) tfn__put_space(p);
    p->begun = true;
    p->spaces = 0;
}

/* One character c, of n bytes; or several of ASCII that are no space, c the first. */
static void tfn__put_spaced(tfn__spacer *p, const uint8_t *s, size_t n, int32_t c)
{
    bool space = c == ' ';
    if (p->steps & TFN_NORMALIZER_WORDS) space = tfn__class(c) == TFN__WHITE;
    if (space) {
        p->spaces++;
        return;
    }
    if (p->spaces || !p->begun) tfn__put_spaces(p, c == 0x2581);
    tfn__put_bytes(&p->to, s, n);
    if (c < 0x80 && c > ' ') p->ink = p->to.used;
    else if (tfn__class(c) != TFN__WHITE) p->ink = p->to.used;
}

/* All characters of a text. */
SHARED void tfn__put_all_spaced(tfn__spacer *p, const uint8_t *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        int32_t c = s[at];
        size_t bytes = 0;
        while (at + bytes < n && s[at + bytes] > ' ' && s[at + bytes] < 0x80) bytes++;
        if (!bytes) bytes = tfn__utf8(s + at, n - at, &c);
        if (c < 0 && p->steps & TFN_NORMALIZER_UTF8)
            tfn__put_spaced(p, (const uint8_t *)"\xef\xbf\xbd", 3, 0xfffd);
        else tfn__put_spaced(p, s + at, bytes, c);
        at += bytes;
    }
}

/* Its end. SentencePiece takes marks away that stood in the text, too; others (Strip, which its
 * files do not have) white space of any kind. */
SHARED size_t tfn__end_spaced(tfn__spacer *p)
{
    tfn__text *t = &p->to;
    const int32_t ends = TFN_NORMALIZER_LEFT | TFN_NORMALIZER_RIGHT;
    const int32_t always = TFN_NORMALIZER_PREFIX | TFN_NORMALIZER_NEEDED | TFN_NORMALIZER_LEFT;
    const bool alone = !p->begun && (p->steps & always) == TFN_NORMALIZER_PREFIX;
    if (!(p->steps & TFN_NORMALIZER_RIGHT) && (p->spaces || alone)) tfn__put_spaces(p, false);
    if (!(p->steps & TFN_NORMALIZER_UTF8)) {
        if (p->steps & TFN_NORMALIZER_RIGHT) t->used = p->ink;
        return t->used;
    }
    if ((p->steps & ends) != ends) return t->used;
    while (t->used >= 3) {
        if (t->used > t->size) break;
        if (!tfn__same((const uint8_t *)t->buf + t->used - 3, tfn__mark, 3)) break;
        t->used -= 3;
    }
    return t->used;
}
#endif
