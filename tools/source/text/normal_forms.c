#include "normal_forms.h"
#include "json.h"
#include "unicode.h"

/* Unicode's normal forms, and the normalizers of BERT and SentencePiece. Builds on json, which
 * reads UTF-8, and unicode. */

/* -- the normal form NFC --------------------------------------------------------------------- */

/* Unicode Standard Annex 15: an e followed by an accent, and the one character for both, become the
 * same bytes. A text is cut in front of each character that begins a new cluster: it neither
 * composes nor changes places with anything before it. A cluster between two cuts is decomposed,
 * its marks are sorted by their combining classes, and it is composed again.
 *
 * tools/unicode.py generates the tables and describes their form: the runs of behavior, the two
 * parts of characters that have two, and the replacement of characters with a single part. */
static const char tfn__mark_runs[][1024] = {
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
    "Pl1U2Pj9U2PDc3",
    "Pf<b3Pn8_3c3^3Pf=c3^3P^4U2PX1cAP4^3PP3c;^=c5^3P2^5c5^5c;^3c9P^3h3P2h3P2h3P2h3P2h3P6h3PR2S2i3"
    "P:h3P2h3P4h5P2h3U2P\\2c3^3c?P\\3U4Pd3S2PFU4PV4S2P`9c7P2Q2^;c5^9c3P2Q>P8^3P<c3P6c5P\\<c5^3c?^"
    "3c5f3[3^3Z3c[2d3b5^3]3c3e3^3c3^3he9P2h3P8he5P<h]1P4h=P4h]2P4h=P4hAP2h3P2h3P2h3P2hU1j3h3j3h3j"
    "3h3j3h3j3h3j3h3j3P4h[3P2h;j3h3P2j3P4h9P2h7j3h3j3h?j3P4h;j3P2h=j3h?j3h5j5P4h7P2h7j3h3j3h3j3P4"
    "j5Pl<c5Q4c9Q6c5P8c3P6Q4c3^3c3Q4^9c3PZ3j3P6j5Pl6h5PT1h3Pl1h7PX3h3P8h3P4h3P^1h3P2h3Pd1h3P4h3P4"
    "h3P2h3P\\1h3P2h3PDh;P4h5P4h5P<h5P4h5P4h5PT2h9PP3h9P<h9Pf3j5PRk3j3PTQ1c7Pj8U2PP6cQ2PdR1]3b3d3"
    "_3`5Ph1h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P4h3P2h3P2h3P<h5P2h5P2h5P2h5P2h5P\\1h3P"
    "8T4P6h3PJh3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P2h3P4h3P2h3P2h3P<h5P2h5P2h5P2h5P2h5P\\1h"
    "3P4h9P6h3PPgj1c3P8cEPP2c5PP5c5PXAU2PZ2U2P^9U2Pf1cU1Pb3^7PZ2U2Pn5S2PHU2Pn>c3P2c5^3P4c5P:c5P2c"
    "3PX3U2P\\?U2PTaV1jm@P4j3P2j3P4jEP2j3P2j3P4j5P6jY4P4je6PV4j3f2j3PDjKP2j;P2j3P2j5P2j5P2jCPR]1c"
    "?^?c5Pjl1^3PT>^3PZ9c;PTY3^3P2c3P`2c3Q2^3P8U2PZ:c3^3PjS1c9PVHc5Pb9",
    "^5c7^3c3^9PR3c3^3c3^3PP<U2Pb2U2PLU2Pd1h3P2h3PLh3PJU2S2PZ4c7PX2i3P<h5P6U4Pl3S2Ph4U2PBS2Pd6U2S"
    "2PT;S2U2PP5S4P2i3PHh5U2PBi3PLc?P6c;Pj<U2P6S2P^1c3PR5i3PBi3h5i3h3P6U2S2Pf>i3PDh5P6U2S2Pl7U2P"
    "\\7U2S2PV7U2Pj@U2S2PZ?i3P>h3P8U4P8S2Ph9U2PV5U2PT1U2PR5U2PZJU2PT@S2P2U4PR5U2P`eV1Q:Pf3c?Pb[2R"
    "4PhZV1Q2Pn[:j?\\5Q6P6a3\\;P@^AP4c;^5Pl1c9PJj=PR8c7Pfk6c?P2cS1P4c?P2c5P2c;PZ@c?P^Gc3Pj3c9PPn2"
    "^?Pj6c=S2PZ[W4jmQ1"
};
static const int32_t tfn__mark_run_starts[][2] = {
    { 0, 0 }, { 358, 68 }, { 825, 139 }, { 908, 203 }, { 1155, 273 }, { 1458, 339 },
    { 1614, 405 }, { 1809, 473 }, { 2085, 540 }, { 2353, 608 }, { 2615, 676 }, { 3022, 746 },
    { 3406, 813 }, { 3917, 882 }, { 4003, 946 }, { 6110, 1024 }, { 6922, 1095 }, { 7376, 1165 },
    { 7677, 1231 }, { 8055, 1300 }, { 8172, 1365 }, { 8490, 1431 }, { 8820, 1502 },
    { 12364, 1579 }, { 12403, 1643 }, { 12478, 1708 }, { 42654, 1777 }, { 43767, 1852 },
    { 64322, 1924 }, { 69446, 2048 }, { 69939, 2118 }, { 70751, 2189 }, { 71997, 2260 },
    { 119149, 2342 }, { 125252, 2417 }
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

static const char tfn__compatibles[][1024] = {
    "P52o775_8`^112a445m8X^124o705W9R^102^`125_9^`102_802e417e8VQ@oP@07g8VQ@SQ@07e8RQ@oP@c35a>205"
    "c<2;5U?f605W=f485VGkT1e12g@T25oGbC05QHdC05SFdA05eG305gGl105iE305gG705iGh105kE7T15iJ\\105kJ\\"
    "305mH\\1l52_T102e402_T102QT102e302c302Y302oS102mS1O5_[1\\^105a[1^^105c[1d^105e[1``105g[1V^10"
    "5i[1f^122i702YW102mV102eV102m4e45ce1Zb195Wf1R^1[22k102a102i222M02[1I2[304o212g502o332[5]<5S2"
    "j1]75k4j405k2h205P5U505k2d2jm15d1e1o35d1e1X15Q3S105S3C^121Z35f3Q315d3S3R<2o1_Q32e^>02]V>02g^"
    ">14g^>02Wj=0@g^>12i^>02ea=02k^>02i^>04g^>02e^>02S^>04W_=02W402Y^>04W^>02Q_=04o^=02[^>12W^>02"
    "U^>02[P>02U^>02m_=04k302[^>04U^>02g302e^=02Y^>02]306ej<04ci<02a_>02Q_>04m^>04Wk<02]j<04Uj<=2"
    "ec<R12ad=02ac>02_d=02kZ>02Ud=02cc>02Sd=02Qd=02kc=06gc=02g202e`=02gc=02Y202g`=02ec=02ic=08gc="
    "02cc=04Qc=02cP>04ib=02g904kb=02Qd>06gb=02]P=j65aS?jU1R95ii?V_115mi?V_105oi?Tb1m15km?X_132Sn?"
    "02Un?02Wn?02Yn?02[n?02]n?02_n?02an?02cn?62155]o?Va1",
    "<2[o?05]o?007_o?0082mP@35100730015100730045eQ@015kQ@Z^185_P@005aP@k105_R@l1=9Y200072mS@@2oS@"
    "02_P@2<oS@02mT@02^I02mS@04YU@02QQ@0DoT@02mU@02^H02mT@04YV@12mR@02gR@02UR@02eQ@02eS?02iR@08eR"
    "@02cR@04_R@;5[U@R2g27mY@S3X307oY@S3X402m[@05UU@i617SZ@W3P407UZ@W3\\402]g?15aU@c602UZ@02U\\@0"
    "2W\\@02Y\\@02[Z@02_n?02]\\@02_\\@02[\\@02]Z@12]\\@05_\\@R226a\\@02c\\@02e\\@25i\\@;07i\\@M>0"
    "5k\\@=12c\\@32k\\@34c^@12c\\@04e^@12[^@02Y\\@08Yf=02o\\@17Y_@9^102gg>02ch>02ej>02mi>02R=42Q`"
    "@04S^@04m]@67ma@VQ@iP@07oa@VQ@eP@09Qb@VQ@UQ@107Sb@VQ@QQ@07Sb@TQ@QQ@07Wb@VQ@mP@07Wb@TQ@mP@07W"
    "b@RQ@mP@07Wb@PQ@mP@07_b@VQ@kP@07Yb@nP@kP@07cb@VQ@gP@07ab@RQ@gP@07_b@nP@gP@07]b@jP@gP@05kb@VQ"
    "@02]a@05_a@007aa@0005ca@J02k`@05m`@I07o`@I009Qa@I0005ma@N02Qa@05Sa@M07Ua@M002oa@04cb@02Sb@02"
    "]`@05_`@007a`@0005c`@J02k_@05m_@I07o_@I009Q`@I0005m`@N02Q`@05S`@M07U`@M002o`@04ca@02Sa@97ae@"
    "XQ@QQ@R551007300151007300_ABmRB05_SB105aSB005cSB205eSB405gSB605iSB805kSB:05mSB<05oSB>05QTB@0"
    "5QTB307gTBB?07iTBDA07kTBFC07mTBHE07oTBJG07QUBLI07SUBNK07UUBP1M07WUBR1O09YUBB1=09[UBB0?09]UBB"
    "2A09_UBB4C09aUBB6E09cUBB8G",
    "09eUBB:I09gUBB<K09iUBB>M09kUBB@O09mUBD3=05]UB505]UB705]UB905]UB;05]UB=05]UB?05]UBA05]UBC05]U"
    "BE07oUB1307QVB0507SVB2707UVB4907WVB6;07YVB8=07[VB:?07]VB<A07_VB>C07aVB@E07aVB3307WWBb3_307YW"
    "Bd3a307[WBf3c307]WBh3e307_WBj3g307aWBl3i307cWBn3k307eWBP4m307gWBR4o307iWBT4Q407kWBV4S407mWBX"
    "4U407oWBZ4W407QXB\\4Y407SXB^4[407UXB`4]407WXBb4_407YXBd4a407[XBf4c407]XBh4e407_XBj4g407aXBl4"
    "i407cXBn4k407eXBP5m407gXBR5o407iXBT5Q50d1YWB0d1mVB02c[BQY19Qn3000W37cSE0605_SE007aSE00U@2SQF"
    "02]RFa72K_92lbNc22hZh1<2P`?02^b?02Xc?02hc?02Ze?02Ph?02\\h?02bi?02Tk?02\\SA02fUA02PVA02\\WA02"
    "bXA02jYA02R]A02Z^A02n^A02bhA02\\nA02RPB02ZPB02TRB02dRB02XTB02PUB02`VB02fYB02hZB02\\\\B02bkC0"
    "2PPD02flD02RnD02`nD02ToD02VPE02lTE02dRF02bUF02P]F02\\^F02`_F02j`F02TdF02XdF02jZG02\\[G02R\\G"
    "02j\\G02PdG02^dG02fdG02nkG02`lG02XmG02fmG02^QH02^RH02`SH02^XH02f\\I02`_I02h`I02nnJ02VoJ02ZTK"
    "02XUK02PVK02XWK02dYK02lYK02`jK02nkK02lmK02ZmM02\\QN02hRN02ZVN02hWN02XXN02dXN02j[N02R\\N02P^N"
    "02\\aP102X]Q102n]Q102V^Q102\\^Q102j^Q102l_Q102n_Q102ndQ102\\RR102dRR102hgR1",
    "02ZhR102\\kR102hkR102XlR102flR102ZRS102fRS102l`S102XaS102XdS102XeS102ThS102lVT102XWT102XXT10"
    "2dlT102^TU102hTU102R`U102^eU102XhU102j_V102RhV102lkW102`mW102PQX102TTX102ZXX102nXX102XYX102X"
    "[X102n_X102``X102RVY102^VY102nVY102^WY102\\XY102XYY102^YY102Z^Y102`^Y102j^Y102R\\[102l][102T"
    "[\\102j[\\102V]\\102jn\\102bo\\102nS]102hV]102TZ^102P[^102l[^102P^^102X`^102dl^102Zm^102^Q_1"
    "02l`_102hb_102ho_102PQ`102XQ`102n^`102\\j`102TRa102^Ra102fRa102Pmb102`mb102VWc102h`c102l`c10"
    "2hcc102Xjc102Pkc102Vkc102bkc102dQd102fSd102PTd102jTd102V_d102Zbd102`bd102lmd102Pnd102Tod102j"
    "^e102hae102Tbe102^fe102Pge102Tge102fge102`ie102Tbf102R[g102d[g102n]g102X_g102f_g102X`g102^`g"
    "102lbg102Rcg102Rdg102Zdg102Reg102ffg102bgg102Phg102dkg102`lg102flg1Z12omGe12W212b`A04f`AP35e"
    "WHbWH05gWHdWH25]14o25g4Z1a14QS@02ah?02SS@04ah?06WS@0<ch?02[R@06eS@02UR@0DgS@0Z1kn?02WP@04QU@"
    "04oi?02ii?02gi?02_i?02Yi?02Wi?02SU@02Si?02Qi?04WU@02UU@04SU@02mT@02kT@0:iT@02eT@02_T@02mS@02"
    "aS@02YS@04Qi?06iR@",
    "04UP@02QP@04ao?02_o?02mn?02in?32lV>02b_>02ZW>02\\dB02XW>02\\Y>02VW>02biQ102n[>02lW>02ZV>02hh"
    "C02TiB02fa>P37_mH`]8]]807amHd]8a]807cmHf]8c]807emHj]8g]807gmHl]8i]807imHn]8k]807kmHR^8o]807m"
    "mHV^8S^807omHX^8U^807QnH\\^8Y^807SnH^^8[^807UnH`^8]^807WnHb^8_^807YnHd^8a^809[nH`]8R6_c809]n"
    "Hd]8n5_c809_nHf]8l5_c809anHj]8h5_c809cnHl]8f5_c809enHn]8d5_c809gnHR^8`5_c809inHV^8\\5_c809kn"
    "HX^8Z5_c809mnH\\^8V5_c809onH^^8T5_c809QoH`^8R5_c809SoHb^8P5_c809UoHd^8n4_c809WoHX^8T6Yd80?Yo"
    "HV^8l5i5b5\\4Sh80=[oHV^8l5]5h5Yd817_oH`mV1]mV107aoHXVW1UVW107coHRnV1omV107eoHV[[1S[[107goHhV"
    "W1eVW107ioHZdX1WdX107koHfmV1cmV107moHVdX1SdX107ooHZSW1WSW107QPIbaY1_aY107SPIP^c1m]c107UPIVTh"
    "1STh107WPIhPf1ePf107YPIP`c1m_c107[PIbjX2_jX207]PI^_[1[_[107_PIjkb1gkb107aPITPd1QPd107cPIR^c1"
    "o]c107ePI\\al1Yal107gPIZnY1WnY107iPIRUi1oTi107kPIbWV2_WV207mPIZcl1Wcl107oPIhXY1eXY107QQIf[W1"
    "c[W107SQIXUZ1UUZ107UQIlc]1ic]107WQIf[k1c[k107YQIb]W1_]W107[QInYV2kYV207]QIhbY1ebY107_QIZdl1W"
    "dl107aQIb^W1_^W107cQITlP2QlP207eQIflP2clP202f`A02^SF02RdI02`dT187ooH8M05mQI105oQI005QRI205SR"
    "I4",
    "05URI605WRI805YRI:05[RI<05]RI>05]RI505_RI305aRI105cRI005eRI205gRI402oe@04me@06ke@02ie@04ge@0"
    ":ee@05kf@R605if@n505if@l505gf@h505gf@f505gf@d505ef@`505cf@\\505cf@Z505af@V505af@T505af@R505a"
    "f@P505af@n40;kf@V5\\5];b609Qg@T6U6b605Ug@V612Ph=02fP>02^h=02`UB02PQ>02`^?02jg=02X^?02Zm=02`["
    "@02lWJ02PnN02`jL02fYJ02Vd_102PYB02ZeI02biJ02^WJ02fZS102bg@02XnO02fP]102\\\\S102hQ@02ncS102jY"
    "Q102`]C02jl^102jX?02T]@02bTM02Zfb102PW>02^_?02P\\L02\\f=02`h=02Zf=02ncE02fd@02TY@02j^D02f[D0"
    "2^SR102XU>02bQ]102ZZ@02hVC05kWI605mWI805oWI:05QXI<05QXI705SXI505UXI305WXI105YXI005[XI205]XI4"
    "05_XI605aXI805cXI:05cXI905mXI^]c105mXI\\]c105mXIZ]c105mXIX]c105mXIV]c105mXIT]c105mXIR]c105mX"
    "IP]c105mXIn\\c107_YI1`]c107aYI0^]c107cYI2\\]c105WXIn107_VIJE05aVIM07UXI@O02kR102iR102gR102eR"
    "104cR102aR102_R102]R102[R102YR102WR102UR102SR102QR102oQ102mQ102iQ102gQ102eQ10<cQ102_Q102[Q10"
    "2WQ102SQ10:oP102mP102kP10<iP108gP105Zn=`j209kU1n2f2W309mU1b4[1W309oU1R5a1_307QV1d5Q109oU1^2`"
    "2U407QV1n4S307oU16d40;mU1R1Cj4U309oU1X5Q5R507mU1b4c307oU1T5g107oU1=\\409QV1l3[2:09SV1T45T107"
    "SV1R4<07UV1^4Y1",
    "05SV1307UV1j1R309YV1`3:T109YV1j3e2h305]V1P40;_V1P4i3b3A0=aV1P4Gf1W3V20;cV1P44g2:07_V1b3A0;aV"
    "1b3A_1f20;eV1h3m2_1b409gV1l3Nm207eV1f4U407cV1`3Q207eV1b4m109cV1Q1Fh30;eV1l3S3f3g109cV1V3BU40"
    "7]V1`3S307_V1`3e207WV1h3U405kU1O05iU1T205mU1f205kU1807eU1E:07eU1e2P20;cU1f2Q4`3e207eU1f2_309"
    "iU1h2O10;cU1S3^1NV207eU1Y2h305gU1Q205kU1`10;iU1W3`4[2<09kU1S3b5W30;kU1U1GOX407oU1X1D0;kU1a2P"
    "1j3Q105iU1i107kU1M>07QV1V1]207oU1b1c307QV1T2W407UV1V2i309oU1a3n4e207SV1NU205WV1`107UV1\\1c20"
    "7[V1R2Q107]V1R2A09YV1c3Fl307[V1c3^407]V1e1H07_V1Jg30;aV1Z1g3P3H09aV1o2l3<05cV1F0;eV1Fc1h2Q10"
    "5cV1Y309eV1Y3h1f209gV1f1W3V207cV1`1U307eV1`1Q107cV1W4R509]V1]2:V205_V1107_V1]1`209aV1R1[2Z10"
    "5aV1G0;cV1>e2[1R407_V1g2:05_bIbXh105_bI`Xh105_bI^Xh105_bI\\Xh105_bIZXh105_bIXXh105_bIVXh105_"
    "bITXh105_bIRXh105_bIPXh107QcI1bXh107ScI0`Xh107UcI2^Xh107WcI4\\Xh107YcI6ZXh107[cI8XXh107]cI:V"
    "Xh107_cI<TXh107acI>RXh107ccI@PXh107ccI3bXh107ecI1`Xh107gcI0^Xh107icI2\\Xh1",
    "07kcI4ZXh107a`I_1R105k`I505ScIX107SaI1R105[`Ia105[`II05UaIB07WaIBZ407YaIB\\405QcIH05`_Eji105"
    "R[IQj805djBhS905PYIjZ309fZJea4Yo7XRE05o`Im205UaIi205[lGeg105[aIg205aaIc205ccIA05acIE05ocI907"
    "YbI3F09kaI?3F05caIc205iaI_205olG[g105QmGYe105QbI;05WbI705_dIT307[bIU2T307YdI9T307gdI2T307ocI"
    "GT305amG^e>05abI\\Z@05UcInZ@05ibI`Z@05UcI>05gbI105mmGmd105mbI005ccID05UcI407ScI0Z407icIDZ405"
    "WcIZ407]cI4Z407[cI0\\407QdID\\405_cI\\407ecI4\\407ccI`j@Sj@09ecI`j@Sj@n305aeIR107mcIe1R107ke"
    "I6R107YfIBR107ecIQ160;gcIQ16Rk@Sj@0=icIQ16Rk@Sj@n305ocI605UdI:05[oGad105[dI<05WdIc105]dI_105"
    "coG[f105cdI]105idIY105gfIB05cdIa105idI]105ooGYf105odI[105UeIW105SgID05YeIlc105WgIhe109QfIU3n"
    "3m305QhIn205QfI005SfI209UhITm@cj@707WhIh2Q405WfIS205ShIT305SfI=05UhI@05UfI:05ShI005UhI405WfI"
    "B05WfI205YfI407[fI6?05]fIH05]fIE07_fI7607afI4505]hI?09_fIS4n3m307ahI0505chI405_fI105ahIV205["
    "hIF07_hInk@_j@07kiIXm@_j@05mjIXkb105mjIVkb105mjITkb105mjIRkb105mjIPkb105mjInjb105mjIljb105mj"
    "Ijjb105mjIhjb107_kI1Zkb107akI0Xkb107ckI2Vkb107ekI4Tkb107gkI6Rkb107ikI8Pkb107kkI:njb1",
    "07mkI<ljb107okI>jjb107QlI@hjb107QlI3Zkb107SlI1Xkb107UlI0Vkb107WlI2Tkb107YlI4Rkb107[lI6Pkb107"
    "]lI8njb107_lI:ljb107alI<jjb107clI>hjb107clI5Zkb107elI3Xkb107_iI;FldL2SUa202QUa2b621Q42mjc202"
    "ijc202Ujc232S]c202[Zc2RK2YS202[202U_d202I92g]d2flC5cYm3005eYm3605gYm3<07iYm30607kYm30<05[hl3"
    "e@05UYm32<5mij3405oij3M05Qjj3A05_ij3?05Ujj3=82kcj302Qej304mdj306adj302mcj302kcj302k_m3U15mgj"
    "3H02m]j302o]j302]]j302_]j302a]j302c]j302_]j302a]j302c]j302e]j302c]j302e]j302g]j302i]j302W^j3"
    "02Y^j302[^j302]^j302U^j302W^j302Y^j302[^j302i^j302k^j302m^j302o^j302[\\j302]\\j302_\\j302a\\"
    "j302_\\j302a\\j302c\\j302e\\j302k^j302m^j302o^j302Q_j302U_j302W_j302Y_j302[_j302W_j302Y_j302"
    "[_j304]_j302__j302a_j302c_j302Y_j302[_j302__j302a_j302__j302a_j302o_j302Q`j302S_j302U_j302e_"
    "j302g_j302Y^j302[^j302]^j302_^j302U^j302W^j302Y^j302[^j302U^j302W^j302Y^j302[^j302a^j302c^j3"
    "02e^j302g^j302W^j304Y^j3",
    "02[^j302]^j302_^j302W^j304Y^j302[^j302]^j302_^j302g^j302i^j302k^j302m^j302g]j304i]j302k]j3Q1"
    "2[bj302]bj302_bj302abj302o`j302Qaj302Uaj302Waj302Uaj302Waj302[fj302Uaj302Waj302eaj302gaj302a"
    "aj302caj302Waj302Yaj302[aj302]aj302mij302oij305Wlj3205Ylj3205[lj3n:05]lj3n:05_lj3T205alj3T20"
    "5clj3R:05elj3R:05glj3P:05ilj3P:05klj3T:05mlj3T:05olj3d:05Qmj3d:05Smj3d:05Umj3V205Wmj3V205Ymj"
    "3V202obj302Qcj302Scj302Ucj305cmj3<05emj3>05gmj3n105imj3V205kmj3X205imj3805kmj3:05mmj3<05omj3"
    "j105Qnj3R205Snj3T205Qnj3405Snj3605Unj3805Wnj3f105Ynj3n105[nj3P205[nj3205]nj3d105_nj3l105anj3"
    "n105anj3205cnj3b105cnj3105enj3`105enj3305gnj3105inj3^105anj3=05cnj3;05enj3905gnj3T105enj3?05"
    "gnj3P105gnj3C05inj3A05knj3?05mnj3N05mnj3C05onj3L05onj3J05onj3I05Qoj3H05Qoj3K05Soj3F05gnj3Y10"
    "5inj3W105knj3U105mnj3805onj3@05Qoj3B05Qoj3Y105Soj3605Uoj3>05Woj3@05Woj3g105Yoj3]105[oj3[105]"
    "oj3Y105_oj3205aoj3405coj3<05eoj3>05eoj3_105goj3]105ioj3[105koj3205moj3:",
    "05ooj3<05ooj3a105QPk3_105SPk3]105UPk3005WPk3805YPk3:05YPk3c105[Pk3a105]Pk3_105_Pk3105aPk3605"
    "cPk3805cPk3e105ePk3305gPk3405iPk3605ePk3k105gPk3i105iPk3g105kPk3905mPk3105oPk3005eRk3P405eRk"
    "3n305WQk3^207kSn3hR3:07mSn3jR3807oSn3lR3607QTn3nR3407STn3PS3207UTn3RS3n105kSk3F05mSk3H05oSk3"
    "n105QTk3P205STk3V205UTk3X205STk3B05UTk3D05WTk3j105YTk3l105[Tk3R205]Tk3T205[Tk3>05]Tk3@05_Tk3"
    "f105aTk3h105cTk3n105eTk3P205eTk3<05gTk3>05iTk3d105kTk3f105mTk3l105oTk3n105eSk3@05gSk3B05gSk3"
    ">05iSk3@05iSk3g105kSk3205mSk3405oSk3<05QTk3>05QTk3205STk3:05UTk3<05UTk3k105WTk3005WTk3Y105YT"
    "k3W105[Tk3105]Tk3005_Tk3605aTk3805]Tk3^205]Tk3a105_Tk3_105aTk3905cTk3705eTk3105gTk3005QWk3<0"
    "5SWk3>05UWk3@05WWk3n105YWk3R205WWk3805YWk3:05[Wk3<05]Wk3j105_Wk3n105]Wk3405_Wk3605aWk3805cWk"
    "3f105eWk3j105eWk3d105eWk3205gWk3b105gWk3105iWk3`105iWk3305kWk3^105cWk3=05eWk3;05gWk3905iWk3T"
    "105gWk3?05iWk3=05kWk3P105kWk3C05mWk3A05oWk3?05QXk3N05QXk3C05QXk3J05QXk3I05SXk3H05SXk3K05UXk3"
    "F05iWk3Y105kWk3W105mWk3U105oWk3805oWk3Y105QXk36",
    "05QXk3]105SXk3[105UXk3Y105WXk3205YXk3405YXk3_105[Xk3]105]Xk3[105_Xk3205aXk3605aXk3a105cXk3_1"
    "05eXk3]105gXk3005gXk3c105iXk3a105kXk3_105mXk3105oXk3205oXk3e105QYk3305SYk3b205oXk3k105QYk3i1"
    "05SYk3g105UYk3905WYk3505a[k3n105c[k3R205a[k3j105c[k3n105a[k3f105c[k3j105c[k3d105e[k3h105W[k3"
    "T105Y[k3X105Y[k3R105[[k3V105_Zk3205aZk3405aZk3205_Zk3105aZk3205[Zk3905]Zk3507S[k3L607U[k3N40"
    "7W[k3P1205k[k3T105m[k3V105k[k3P105m[k3R105m[k3N05o[k3P105_\\k3\\105a\\k3^105a\\k3Z105c\\k3\\"
    "105S]k3h105U]k3j105Y]k3j105[]k3l105Y]k3f105[]k3h105o\\k3X105Q]k3Z105Q]k3V105S]k3X105Y]k3?05["
    "]k3=05]]k3;05_]k3R105a]k3505e]k3305c]k3705c]k3905c]k3T105e]k3V105c]k3P105e]k3R105e]k3N05g]k3"
    "P105W^k3\\105Y^k3^105Y^k3Z105[^k3\\105k^k3h105m^k3j105Q_k3j105S_k3l105Q_k3f105S_k3h105g^k3X1"
    "05i^k3Z105i^k3V105k^k3X105Q_k3?05S_k3=05U_k3;05W_k3R105Y_k3505]_k3305[_k3705[_k3905a_k3?05c_"
    "k3=05e_k3;05g_k3R105k_k3X105k_k3V105g_k3L05Q`k3=05S`k3;05U`k3905U`k3?05W`k3=05Y`k3;05U`k3L05"
    "U`k3J05Yak3X205[ak3X2B7[bk34b107]bk36107_bk36107abk36`107cbk38^107ebk3f1a1",
    "07gbk3f1_107ibk3f1]107gbk3b1_107ibk3b1_107ibk3`1:07kbk3`1807abk3;107cbk3=207ebk3=j107gbk3T1_"
    "107ibk3T1_107kbk3T1a107mbk3T1007obk3T1007mbk3?007obk3?007Qck3P1007Uck3=`107Wck3=`107Yck3?l10"
    "7[ck3R1]107]ck3R1]107_ck3R1007ack3R1007_ck3Ah107ack3?^107cck3?^107cck3L_107eck3L_107gck3L007"
    "ick3L:07gck3Ib107ick3H007kck3H007mck3H807mck3F007ock3F:07Qdk3F807eck3U1^107gck3U1^107gck36_1"
    "07ick36007gck3]1`107ick3]1j107kck3]1h107mck3_1007ock3_1007Qdk3[1^107Sdk3[1^107Udk32_107Wdk32"
    "_107Wdk3_1107Ydk3_1`107[dk3_1j107]dk3a1207_dk3a1b107adk3]1307cdk3]1^127idk3a1407gdk33a107idk"
    "33007mdk3a1`107odk3a1h107Qek3c1b107Sek3c1b107Uek3c1j107Wek31:07Yek31807Sek39007Uek39007[gk3<"
    "h107Ygk34l107[gk34j107]gk38h107_gk38f107agk3f1:07cgk3f1807agk3b1:07cgk32h107egk3b1807Ygk39f1"
    "07Wgk3?j107[gk3=j107Ygk3Aj107_fk3_1l107afk32:07Wfk3i1j107Yfk3k1l107[fk39:07gfk30:07ofk36:07i"
    "fk3a1j107Sgk36_107Qgk3]1`107igk3H:07Wgk34:",
    "07Sgk3c1207Wgk3]1h107[gk3_1b107_gk34007_gk3_1b107]gk3c1207Sik32j107Sik31l107egk3a1l107ogk38:"
    "07cik3:j107ogk34007ehk3Ib107ohk3P1007Uik39h107Qhk3c1l1X17ekk3Nl807mjk34l809elk3j10609glk3h1e"
    "1B09mjk3_1`1[109okk3NEH09Ylk34Z1709kkk3F<509ojk3Y1R1207Wlk3N:0U1Ylk3N:aR3^P3j106]R3bQ3F<5]R3"
    "`R3Y1R120Amlk3`1WR3hP3`1i1j1609elk3f9Y:j1C2Wnn304oPW304amn302Won302]mn304QPW302Uo^3F2eP_302i"
    "Q_302mQ_302Wmn302Ymn304iPo302gkn302ekn304YRW304eRW304USW304]SW308YSW322gnn302enn302eP_302gP_"
    "302iP_302kP_302knn302mnn302onn302WRo302oTW302WRo312aQo302eQo302]Qo302[So302WT_304QSo302omn30"
    "2mmn304aTW302gSo302cSo304]So302[So302_Ro302]Ro302aRo312gPo304YTo302eRo345oTo3fR305QSl3F05SUo"
    "3hR315WUo3jR315[Uo3lR305]Sl3L05_Uo3nR305aSl3N05cUo3PS305eSl3P105gUo3RS305iSl3R105kUo3TS305mS"
    "l3T104mUl304oUl304QVl304SVl304UVl302WVl302YVl304[Vl304]Vl302_Vl302aVl304cVl304eVl302gVl302iV"
    "l304kVl302mVl302oVl304QWl302SWl302UWl304WWl302YWl302[Wl304]Wl302_Wl302aWl304cWl304eWl304gWl3"
    "04iWl304kWl302mWl302oWl3",
    "04QXl302SXl302UXl304WXl302YXl302[Xl304]Xl302_Xl302aXl304cXl302eXl302gXl304iXl302kXl302mXl304"
    "oXl302QYl302SYl304UYl302WYl302YYl302[Yl302oXl302QYl302SYl304UYl302WYl302YYl304[Yl302]Yl302_Y"
    "l304aYl302cYl302eYl304gYl302iYl302kYl304mYl302oYl302QZl304SZl302UZl302WZl304YZl304[Zl304]Zl3"
    "02_Zl302aZl302cZl305Q[l3S205S[l3S205U[l3Q205W[l3Q205Y[l3m105[[l3m105][l3i105_[l3i14l5o]o304c"
    "mZ302meW304[eW302UfW302cVW302WWW302[\\W302Y\\W302W\\W302U\\W302S\\W302aXW302_XW302]XW302gZW3"
    "02WWW302m\\W302k\\W302i\\W302g\\W304e\\W302c\\W302a\\W302_\\W302]\\W302[\\W302Y\\W302W\\W302"
    "U\\W302S\\W302Q\\W302o[W302k[W302i[W302g[W30<e[W302a[W302][W302Y[W302U[W30:Q[W302oZW302mZW30"
    "<kZW302iZW302cZW304Y`W302gSW30l1oVW33<UWW32<YWW32<]WW326aWW334kco302[co302Wco302kco302oco302"
    "ic_312[^]308aU_302iT]302UR]3bl14Q[R402iYS402e^R402ScR412W^R402SR^102W^R402[^R404YcR402god302"
    "[cR402QcR402]^R402ibR402obR402UcR402a_R402kVS402c_R402obR402WaR404m^R402mbR402`f[302mP`102ob"
    "R402\\f[302SaR402Zf[302cZS404ibR402WcS402gbR402Rf[304ebR402cbR402U`R402[`R402[T^1",
    "02]`R402]bR402mc]312UbR404SaR402iaR406[oR402Re[302Xf[3URc1d1mkY70d1akY70d1UoY70>inY71T1inY70"
    "d1]RZ70d1QRZ702eUZ714eUZ722eUZ724eUZ728eUZ71@eUZ708YUZ712YUZ71>YUZ71FYUZ70d1mXZ70d1aXZ704U\\"
    "Z718U\\Z72@U\\Z71>U\\Z71d1i[Z704]_Z718]_Z71:]_Z712]_Z73>]_Z71d1Q_Z70d1ebZ70d1YbZ70d1meZ70d1a"
    "eZ70d1UiZ70d1ihZ70d1]lZ70d1QlZ70d1eoZ70d1YoZ70d1mR[70d1aR[702UgZ702kVZ72R1]aY702Y\\Y70>]aY70"
    "2c[j60b1QaY702a]j602]^Y702g`Y702k^Y702c`Y702m^Y702e`Y70R1QeY702m_Y70>QeY702W_j60b1edY702Uaj6"
    "02QbY702[dY702_bY702WdY702abY702YdY70R1ehY702acY70>ehY702kbj60b1YhY702idj602eeY702ogY702SfY7"
    "02kgY702UfY702mgY70R1YlY702UgY70>YlY702_fj60b1mkY702]hj602YiY702ckY702giY702_kY702iiY702akY7"
    "0R1moY702ijY70>moY702Sjj60b1aoY702Qlj602mlY702WoY702[mY702SoY702]mY702UoY704knY72Dki[70D_j[7"
    "0DSk[70Dgk[70D[l[7P`54amc702[mc702Wmc712ikc702Wmc702cmc702Qmc702mkc708]lc702emc702[mc702mlc7"
    "02gmc702olc702Snc702omc704enc702anc702_nc702Unc702Snc702Qnc702kjc702Ufc702igc702ojc712aoc702"
    "[oc712imc722coc712mmc708]nc702eoc702[oc702mnc702goc702onc712ooc704ePd702aPd712UPd7",
    "12QPd762[Qd742cQd712moc712]Pd712]Pd702eQd702[Qd712gQd702oPd712oQd722aRd712URd712QRd712Ujc712"
    "onc712aSd702[Sd712iQd722cSd702QSd702mQd702]Rd714]Rd702eSd702[Sd702mRd702gSd702oRd712oSd704eT"
    "d702aTd712UTd702STd702QTd702kPd712imc714aUd702[Ud702WUd704iSd702WUd702cUd702QUd702mSd716]Td7"
    "02eUd702[Ud702mTd702gUd702oTd702SVd702oUd704eVd702aVd702_Vd702UVd702SVd702QVd752aWd702[Wd702"
    "WWd712iUd702WWd702cWd702QWd702mUd716]Vd702eWd702[Wd702mVd702gWd702oVd702SXd702oWd704eXd702aX"
    "d702_Xd702UXd702SXd702QXd7TB5o\\h7305Q]h7705Q]h7905Q]h7;05Q]h7=05Q]h7?05Q]h7A05Q]h7C05Q]h7E0"
    "5Q]h7G05Q]h7I57_^h7b1_107a^h7d1a107c^h7f1c107e^h7h1e107g^h7j1g107i^h7l1i107k^h7n1k107m^h7P2m"
    "107o^h7R2o107Q_h7T2Q207S_h7V2S207U_h7X2U207W_h7Z2W207Y_h7\\2Y207[_h7^2[207]_h7`2]207__h7b2_2"
    "07a_h7d2a207c_h7f2c207e_h7h2e207g_h7j2g207i_h7l2i207k_h7n2k207m_h7P3m207o_h7R3o207Q`h7T3Q307"
    "[aP7QlGTlG02_^h702c]h705c^h7205]]h761d1m^h705S`h7L05k_h7B05a_h7M05c_h70",
    "07k_h70<05__h7W1J5iah7C05kah7A05mah7:S15gdh7<_35YhP7o205kdP7002idP7=2YlW602c[[602[T_602gdP70"
    "2_ha602e_\\602USd502k^\\602Wga602aoU602a_P602SXV602ml_602QYY602QY`602mVV602UP`602m]j502U`n50"
    "2cgb502Wc\\602gn^602SaQ602SiW602U]W602aRb602QRb602Qn`502[TZ602ooa602eS_602_bW602o[b502kmW602"
    "Q[l502akk502gR_602YkQ602ibU602mbU602Y`n502]l_602WX^602k^`547gRQ7`aK]aK07iRQ7Zo>Wo>07kRQ7`W?]"
    "W?07mRQ7ZgEWgE07oRQ7ZZP1WZP107QSQ7nSIkSI07SSQ7V\\S1S\\S107USQ7b\\A_\\A07WSQ7VdJSdJ72a[Y602SV"
    "_6n\\2Dokm7"
};
static const int32_t tfn__compatible_starts[][2] = {
    { 160, 0 }, { 689, 195 }, { 1653, 366 }, { 7503, 541 }, { 7592, 698 }, { 8228, 1024 },
    { 8340, 1194 }, { 8484, 1383 }, { 8542, 1630 }, { 8585, 1827 }, { 9347, 2048 },
    { 9379, 2282 }, { 12033, 2534 }, { 12065, 2694 }, { 12097, 2854 }, { 12129, 3072 },
    { 12161, 3264 }, { 12193, 3456 }, { 12225, 3648 }, { 12597, 3840 }, { 12679, 4096 },
    { 12812, 4330 }, { 12845, 4752 }, { 12885, 5120 }, { 12925, 5327 }, { 12958, 5502 },
    { 12990, 5678 }, { 13023, 5898 }, { 13072, 6144 }, { 13104, 6448 }, { 13136, 6741 },
    { 13168, 7168 }, { 13200, 7406 }, { 13232, 7672 }, { 13264, 7899 }, { 13296, 8192 },
    { 64259, 8446 }, { 64351, 8652 }, { 64384, 8844 }, { 64417, 9216 }, { 64484, 9409 },
    { 64516, 9641 }, { 64548, 9880 }, { 64580, 10240 }, { 64612, 10496 }, { 64644, 10737 },
    { 64676, 10971 }, { 64708, 11264 }, { 64740, 11510 }, { 64772, 11759 }, { 64804, 12007 },
    { 64854, 12288 }, { 64886, 12579 }, { 64920, 12873 }, { 64952, 13312 }, { 65045, 13647 },
    { 65111, 13839 }, { 65156, 14064 }, { 65204, 14336 }, { 65246, 14528 }, { 65383, 14737 },
    { 65421, 14929 }, { 67466, 15124 }, { 67502, 15360 }, { 120094, 15563 }, { 120545, 15771 },
    { 120715, 15969 }, { 126478, 16165 }, { 126523, 16384 }, { 126585, 16576 }, { 126631, 16768 },
    { 127252, 16988 }, { 127310, 17408 }, { 127527, 17613 }, { 130032, 17863 }
};

/* True if a character is in one of these ranges. */
SHARED bool tfn__in_pairs(const int32_t (*pairs)[2], size_t count, int32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (c >= pairs[i][0] && c <= pairs[i][1]) return true;
    return false;
}

SHARED bool tfn__same(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

TFN__SMALL

/* Behaviors of characters that are not combining classes, which are 1 to 240. */
enum { TFN__NEW = 0, TFN__NEW_DECOMPOSES = 253, TFN__JOINS = 254, TFN__CHANGES = 255 };

static int tfn__behavior(int32_t c)
{
    if (c < 0xc0) return TFN__NEW;
    return tfn__behaviors[tfn__run_at((const char *)tfn__mark_runs, tfn__mark_run_starts,
                                      sizeof tfn__mark_run_starts / sizeof *tfn__mark_run_starts,
                                      6, c)];
}
static bool tfn__begins_anew(int behavior)
{
    return behavior == TFN__NEW || behavior == TFN__NEW_DECOMPOSES;
}

/* True if a text certainly stays unchanged. Characters below U+0300 always begin a new cluster, so
 * bytes below CC and their continuations need no look-up. */
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

/* A reader of tfn__parts or tfn__alone. An entry means that `whole` consists of `first` and
 * `second`, or only of `first` if second is 0. */
typedef struct tfn__parts_reader {
    const char *s;
    int32_t left, first, second, whole;         /* left: entries of this group */
    bool    never;                              /* the entries are not composed again */
} tfn__parts_reader;

static int32_t tfn__next_signed(const char **s)
{
    const int32_t d = tfn__next_run(s);
    if (d & 1) return -(d >> 1) - 1;
    return d >> 1;
}

/* Step into the next group. Returns its number of characters; 0: no more groups. */
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

/* The two parts of a character; *second may be 0. False: it has no parts. */
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
    if (tfn__find_parts(tfn__parts, c, first, second)) return true;
    return tfn__find_parts(tfn__alone, c, first, second);
}

/* The composition of two characters; -1: they do not compose. */
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

/* A cluster: the characters between two cuts, decomposed and sorted. One with more marks than this,
 * more than any language uses, is cut again; Unicode's "Stream-Safe Text Format" allows 30. */
enum { TFN__MOST_MARKS = 128 };
typedef struct tfn__cluster {
    tfn__text to;
    int32_t form;                               /* TFN__FORM_ */
    const uint8_t *s;                           /* the text before, of `bytes` bytes */
    size_t  bytes;
    bool    same;                               /* unchanged so far */
    int32_t whole;                              /* a character without marks so far, or -1 */
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

/* Compose: a mark joins the last starter, unless a mark of its class or above is between them. */
static void tfn__end_cluster(tfn__cluster *u)
{
    int32_t starter = -1;                       /* index of the last starter that stays */
    int32_t last = -1;                          /* class of the mark between; -1: none */
    int32_t stay = 0;
    if (u->whole >= 0) tfn__cluster_code(u, u->whole);
    for (int32_t i = 0; i < u->n; i++) {
        int32_t both = -1;
        if (u->form & TFN__FORM_COMPOSED && starter >= 0 && last < u->rank[i])
            both = tfn__composed(u->c[starter], u->c[i]);
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

/* Decompose a character, and insert its parts after those of a lower or the same class. */
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
    for (; at > 0; at--) {                      /* a rank of 0 stays in place */
        if (rank == 0 || u->rank[at - 1] <= rank) break;
        u->c[at] = u->c[at - 1];
        u->rank[at] = u->rank[at - 1];
    }
    u->c[at] = c;
    u->rank[at] = rank;
    u->n++;
}

/* Find the compatibility decomposition of a character. Returns its number of parts, 0 for none. *s
 * reads the parts as differences, the first one to *from. In a run, each character has one part. */
static int32_t tfn__compatible_of(int32_t c, const char **s, int32_t *from)
{
    int32_t low = 0;
    int32_t high = (int32_t)(sizeof tfn__compatible_starts / sizeof *tfn__compatible_starts);
    int32_t begin;
    bool first = true;
    if (c < 0xa0) return 0;
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (tfn__compatible_starts[middle][0] <= c) low = middle;
        else high = middle;
    }
    begin = tfn__compatible_starts[low][0];
    *s = (const char *)tfn__compatibles + tfn__compatible_starts[low][1];
    *from = c;
    while (**s) {
        const int32_t gap = tfn__next_run(s);
        const int32_t kind = tfn__next_run(s);
        const int32_t count = kind >> 1;
        if (!first) begin += gap;
        first = false;
        if (c < begin) return 0;
        if (kind & 1) {
            if (c == begin) return count;
            for (int32_t i = 0; i < count; i++) tfn__next_run(s);
            begin++;
        } else {
            begin += count;
            if (c < begin) return 1;
            tfn__next_run(s);
        }
    }
    return 0;
}

/* True if a character with two parts has one with a compatibility decomposition among them. */
static bool tfn__hides_compatible(int32_t c)
{
    static const int32_t all[][2] = { { 0x385, 0x385 }, { 0x3d3, 0x3d4 }, { 0x1e9b, 0x1e9b },
        { 0x1fc1, 0x1fc1 }, { 0x1fcd, 0x1fcf }, { 0x1fdd, 0x1fdf }, { 0x1fed, 0x1fee },
        { 0x1ffd, 0x1ffd }, { 0x2000, 0x2001 } };
    return tfn__in_pairs(all, sizeof all / sizeof *all, c);
}

/* Add one character of a text, or one from a decomposition. */
static void tfn__feed(tfn__cluster *u, int32_t c)
{
    if (u->form & TFN__FORM_COMPATIBLE) {
        const char *s;
        int32_t first;
        int32_t second;
        const int32_t parts = tfn__compatible_of(c, &s, &first);
        for (int32_t i = 0; i < parts; i++) {
            first += tfn__next_signed(&s);
            tfn__feed(u, first);
        }
        if (parts) return;
        if (tfn__hides_compatible(c) && tfn__parts_of(c, &first, &second)) {
            tfn__feed(u, first);
            if (second) tfn__feed(u, second);
            return;
        }
    }
    if (tfn__begins_anew(tfn__behavior(c))) {
        tfn__end_cluster(u);
        if (u->form & TFN__FORM_COMPOSED) u->whole = c;
        else tfn__add_parts(u, c);
        return;
    }
    if (u->whole >= 0) tfn__add_parts(u, u->whole);
    u->whole = -1;
    tfn__add_parts(u, c);
}

/* Convert a text to a normal form. Returns its bytes and stores those that fit; NFC needs at most
 * three for one. *same: the text was in this form already. Invalid bytes stay. A mark costs a
 * search in the tables, at least a microsecond, so tfn__is_nfc first looks for texts without
 * marks. */
SHARED size_t tfn__put_normal_form(uint8_t *to, size_t room, bool *same, const uint8_t *s, size_t n,
                            int32_t form)
{
    tfn__cluster u;
    u.to = tfn__text_in(to, room);
    u.form = form;
    u.s = s;
    u.bytes = n;
    u.same = true;
    u.whole = -1;
    u.n = 0;
    for (size_t at = 0; at < n;) {
        int32_t c;
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (c >= 0) tfn__feed(&u, c);
        else {
            tfn__end_cluster(&u);
            tfn__cluster_put(&u, s + at, 1);
        }
        at += bytes;
    }
    tfn__end_cluster(&u);
    *same = u.same;                     /* to omit a character, the one before it must change */
    return u.to.used;
}
TFN__SMALL_END

/* -- BERT's normal form ---------------------------------------------------------------------- */
enum { TFN__EVEN_CAPITALS = 1, TFN__ODD_CAPITALS };
static const char tfn__small_runs[][1024] = {
    "PT8SX3Pd<Sl2P4SLPT4Ql5P<QDP8Rl1P8Qd5P4T4RDP<U4Q<P4V4R4P4W8R4P8X4Y4Z4R4P4W4[4P4\\4]4Q4P<\\4^4"
    "P4_4QDP4`4R4P4`4P8Q4P4`4R4P4a8R<P4b4Q4P<Q4PLc4R4P4c4Q4P4c4RT2P8QT2P8c4Q<P4d4e4Ql4P4f4P4QT2PL"
    "g4R4P4h4i4P8R4P4j4k4l4QT1PTT1Q<P<Q4PP1m4PHn4P4o<P4P5P4Q9P4ST2P4ST1P\\4R5PP1Ql2PDS5P8R4P4T5Q4"
    "P8f<UQ2SP4PP6QT4PT1Qd6P4V5Rd1P8Ql;P8Wi4PTY;Xi4P4X5PDX5PXj2YQ:RIPXc8Z]5P8Z=PPX1QdBPT1[5P4Ql;P"
    "T1\\Q1PP1\\IPX1\\Q1PP1\\Q1PP1\\IP\\1\\5P4\\5P4\\5P4\\5PP1\\Q1PP3\\Q1PP1\\Q1PP1\\Q1PP1\\9]9^5"
    "P\\1_A^5P\\1\\9`9P`1\\9a9T5P\\1b9c9^5PTU1d5P<e5f5PHg5Pd5hQ2P\\2R4PXV3iY3PPV7WQ6PP6Q4P4j5k5l5"
    "P8RDP4m5n5o5P6P4Q4P8R4PP1Q:Q\\<PP1R<P@Q4PdYi3Qd5P\\2Q\\3Pl@Qd1P<Qd7PX1R<P4R6QT1P@R4P4S6P8Q<P"
    "<Q\\2P4T6U6V6W6T6P4X6Y6Z6[6Ql1P4\\6]6^6R<PHQ4PDQ<P`3R4P\\Ug2SX3Pdh4_R5PPA_b4P`C`^1P4`n1P4`NP"
    "4`:PXm6P]6Pdm;SP4PP`e2SP4PPdj3aZ4"
};
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
    uint32_t category;
    if (c < 0) return TFN__PLAIN;
    if (c < 128 && tfn__class(c) == TFN__LETTER) return TFN__PLAIN;
    if (c < 128 && tfn__class(c) == TFN__NUMBER) return TFN__PLAIN;
    if (c > ' ' && c < 127) return TFN__PUNCTUATION;        /* ASCII symbols, too */
    category = (uint32_t)1 << tfn__category(c);
    if (category & TFN__PUNCTUATIONS) return TFN__PUNCTUATION;
    if (category & TFN__BIT(TFN__MN)) return TFN__ACCENT;
    if (category & TFN__CONTROLS) return TFN__CONTROL;
    return TFN__PLAIN;
}

/* The lower case of a capital; other characters stay. */
static int32_t tfn__small_letter(int32_t c)
{
    int32_t index;
    if (c < 'A') return c;
    index = tfn__run_at((const char *)tfn__small_runs, tfn__small_run_starts,
                        sizeof tfn__small_run_starts / sizeof *tfn__small_run_starts, 7, c);
    if (index == TFN__EVEN_CAPITALS) return c | 1;
    if (index == TFN__ODD_CAPITALS)  return c + (c & 1);
    return c + tfn__small_deltas[index];
}

/* True if BERT treats a character as Chinese: ideographs, which Japanese and Korean use, too. */
static bool tfn__is_chinese(int32_t c)
{
    static const int32_t blocks[][2] = { { 0x3400, 0x4dbf }, { 0x4e00, 0x9fff },
        { 0xf900, 0xfaff }, { 0x20000, 0x2a6df }, { 0x2a700, 0x2b73f }, { 0x2b740, 0x2b81f },
        { 0x2b820, 0x2ceaf }, { 0x2f800, 0x2fa1f } };
    return tfn__in_pairs(blocks, sizeof blocks / sizeof *blocks, c);
}

/* The last step: lower case. U+0130, a capital i with a dot, is the only capital whose lower case
 * is two characters, an i and a dot. */
SHARED void tfn__put_small(tfn__text *t, int32_t c, int32_t steps)
{
    if (steps & TFN_NORMALIZER_LOWERCASE) {
        if (c == 0x130) tfn__put_code(t, 'i');
        c = tfn__small_letter(c);
        if (c == 0x130) c = 0x307;
    }
    tfn__put_code(t, c);
}

/* Put a character without its accents: only those of its parts that are not accents. */
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

/* Put one character after BERT's cleaning. -1 is an invalid byte; it is dropped like U+FFFD, which
 * others show instead. Most characters are printable ASCII, which needs no look-up. */
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

/* Apply these steps to a text; the result is like that of tfn__put_normal_form. At most three bytes
 * for one: a syllable of Hangul, of three bytes, has two or three parts of three bytes each, which
 * BERT's vocabularies have as tokens. */
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
 * replaced by a table that comes with the model. It is mostly Unicode's NFKC, which replaces, for
 * example, the ligature fi by two letters.
 *
 * The table is a size in bytes, a trie of that size, then the replacements, each with a final zero.
 * The trie is a "double array" of 4-byte numbers, lowest byte first. From the number u of a node,
 * the next byte c leads to the number at offset(u) ^ c, if that number's label is c. Bit 8 of a
 * number means that the bytes so far are replaced, and the number at the next offset says by which
 * text. */
SHARED const uint8_t tfn__mark[3] = { 0xe2, 0x96, 0x81 };

/* Add a byte to a set, which has a bit for each. */
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

/* Find the longest beginning of the n bytes at s that is replaced. Returns its length, 0 for none;
 * *value: the place of its replacement; *read: how many bytes of s are the beginning of anything
 * that is replaced. Files may be malicious: an index at or beyond `units` ends the search. units >
 * 0.
 *
 * For example, if the offset of unit 0, the root, is 256, "e" (0x65) leads to unit 256 ^ 0x65,
 * whose label must be 0x65. If its bit 8 is set, "e" is replaced. The offset of that unit leads on
 * to "e" with an accent, which has two bytes, and so to one character for both. */
SHARED size_t tfn__map_match(const uint8_t *map, size_t units, const uint8_t *s, size_t n,
                             size_t *value, size_t *read)
{
    size_t found = 0;
    uint32_t at;
    *read = 0;
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

/* True if something that is replaced is this ASCII byte, or continues after it with ASCII. An "e"
 * is no such byte: an accent after it is not ASCII. */
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

/* Write the spaces held back, and at the start of the text the one to add. is_mark: U+2581 follows,
 * which already is a space. */
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

/* Put one character c of n bytes, or several ASCII characters except spaces, of which c is
 * first. */
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

/* Put all characters of a text. */
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

/* End a text. SentencePiece also removes marks that were in the text. Strip, which its files do not
 * have, removes white space of any kind. */
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
