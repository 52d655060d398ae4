// node engine.js FOLDER TEST ...: tests the engine that build.sh made in FOLDER; an exception fails.
const assert = require("assert"), fs = require("fs"), path = require("path");
const Tfnorm = require(path.resolve(process.argv[2], "tfnorm.js"));
const [test, ...rest] = process.argv.slice(3);

async function started(kind, ...args) {
    const engine = await Tfnorm.engine(await Tfnorm.module(kind));
    engine.start(args);
    return engine;
}
function train(engine, steps) {
    for (let i = 0; i < steps; i++) engine.step(i % 7 === 0);       // observing changes nothing
}

const tests = {
    async hash(kind, steps, ...args) {
        const engine = await started(kind, ...args);
        train(engine, +steps);
        console.log(engine.hash());
    },
    // Milliseconds of an update of both sides on one thread, the median of five turns.
    async speed(kind, steps, ...args) {
        const left = await started(kind, "post", ...args), right = await started(kind, "pre", ...args), turns = [];
        for (let turn = 0; turn < 6; turn++) {
            const begin = performance.now();
            for (let i = 0; i < steps; i++) left.step(false), right.step(false);
            turns.push((performance.now() - begin) / steps);
        }
        console.log(turns.slice(1).sort((a, b) => a - b)[2].toFixed(1));        // the first turn compiles
    },
    async selfcheck(kind) {
        const engine = await Tfnorm.engine(await Tfnorm.module(kind));
        const header = fs.readFileSync("../tfnorm.h", "utf8");
        const wanted = kind === "relaxed" ? "TFN_BITS_HASH" : "TFN_BITS_HASH_NO_FMA";
        const [, hash] = header.match(new RegExp(`define ${wanted} +UINT64_C\\(0x([0-9a-f]{16})\\)`));
        assert.equal(engine.bits(), kind === "relaxed" ? "canonical" : "differ: no FMA");
        assert.equal(engine.selfcheck(), hash);
    },
    // A run that was saved and loaded elsewhere continues with the same bits. A file that is not a
    // checkpoint, or of another model, is an error with a message.
    async files(file) {
        const args = ["post", "--layers", "2", "--dropout", "0.1"];
        const one = await started(undefined, ...args), two = await started(undefined, ...args);
        train(one, 15);
        const bytes = one.save("left=post");
        fs.writeFileSync(file, bytes);
        assert.equal(two.extra(bytes), "left=post");
        two.load(bytes);
        assert.equal(two.updates(), 15);
        assert.equal(two.hash(), one.hash());
        train(one, 5);
        train(two, 5);
        assert.equal(two.hash(), one.hash());
        const other = await started(undefined, "pre", "--layers", "2");
        assert.throws(() => other.load(bytes), /topology is post, the model has pre/);
        for (const wrong of [bytes.slice(0, 100), bytes.slice(0, -1), new Uint8Array(8), Buffer.from("text")]) {
            const engine = await started(undefined, ...args);
            assert.throws(() => engine.load(wrong), /^Error: file: /);
        }
    },
    // Models of each task in FOLDER, with their input and output, a line each.
    async answers(folder) {
        const put = (name, data) => fs.writeFileSync(path.join(folder, name), data);
        const typed = text => text.replace(/ ([.,])/g, "$1");       // as people write: no space in front
        for (const [task, updates] of [["reverse", 250], ["grammar", 60], ["headline", 60], ["text", 60], ["markov", 5]]) {
            const engine = await started(undefined, "pre", "--layers", "1", "--lr", "0.008", "--task", task);
            train(engine, updates);
            put(task + ".safetensors", engine.save("playground recipe=pre&task=" + task));
            const samples = Array.from({ length: 12 }, (_, row) => engine.sample(row));
            assert(new Set(samples.map(x => x.wrote)).size > 1, task);
            put(task + ".read", samples.map(x => typed(x.read) + "\n").join(""));
            put(task + ".wrote", samples.map(x => (task === "text" ? x.read : "") + typed(x.wrote) + "\n").join(""));
        }
    },
    async looks() {
        const engine = await started(undefined, "pre", "--layers", "2");
        const rows = engine.rows("recipe");
        assert(rows.length > 80 && rows.every(r => r.name && r.formula && r.paper && r.norm && r.init));
        for (const kind of ["norm", "init", "optimizer", "schedule"]) assert(engine.rows(kind).length > 7);
        assert.equal(engine.block("b2t", 1, 6, 3).filter(x => x.text === "+").length, 3);
        const first = engine.heldOut();
        assert(Math.abs(engine.rate(1) - 2e-3 * 400 / 401) < 1e-8);
        train(engine, 250);
        assert(engine.heldOut() < engine.guessing() / 2 && first > engine.guessing());
        engine.step(true);
        const seen = engine.sublayers();
        assert.deepEqual(seen.map(s => [s.stack, s.layer, s.kind]), [[0, 0, 0], [0, 0, 2], [0, 1, 0],
            [0, 1, 2], [1, 0, 0], [1, 0, 1], [1, 0, 2], [1, 1, 0], [1, 1, 1], [1, 1, 2]]);
        for (const s of seen)
            for (const name of ["gradient", "arriving", "stream", "branch", "moved", "weights"])
                assert(s[name] > 0 && s[name] < 1e3, `${name} is ${s[name]}`);
        let right = 0;
        for (let row = 0; row < 20; row++) {
            const sample = engine.sample(row);
            assert.equal([...sample.read].reverse().join(""), sample.right);
            right += sample.wrote === sample.right;
        }
        assert(right > 0, "no string backwards");
        const a = engine.attention(0, 1, 1, 1, 0);
        assert.equal(a.weights.length, a.queries.length * a.keys.length);
        const sum = a.weights.slice(0, a.keys.length).reduce((x, y) => x + y);
        assert(Math.abs(sum - 1) < 1e-5);
        assert.equal(engine.attention(0, 0, 0, 1, 0), null);        // an encoder reads no encoder
        const wrong = await Tfnorm.engine(await Tfnorm.module());
        assert.throws(() => wrong.start(["rezro"]), /^Error: no recipe is called "rezro"; close: rezero/);
    },
    // The page's own model of English by letters continues a text.
    async writes() {
        const engine = await started(undefined, "pre", "--layers", "1", "--task", "text");
        train(engine, 60);
        const reader = await Tfnorm.engine(await Tfnorm.module()), about = reader.open(engine.save(""));
        assert.deepEqual([about.recipe, about.layers, about.width], ["pre", 1, 32]);
        const scores = reader.begin("the dog ", about.vocab);
        const text = reader.ids().map(id => Buffer.from(reader.token(id)).toString()).join("");
        assert.equal(text, "the dog ");
        assert.equal(scores.length, about.vocab);
        const sum = reader.attends(5, 0).reduce((x, y) => x + y);
        assert(Math.abs(sum - 1) < 1e-5);
        // the lens after all layers equals the model; a file is read in pieces, and a cut one is an error
        const whole = reader.lens(1, about.vocab);
        whole.forEach((x, i) => assert(Math.abs(x - scores[i]) < 1e-4));
        assert.notDeepEqual(reader.lens(0, about.vocab), whole);
        assert.throws(() => reader.lens(2, about.vocab), /^Error: .*layers/);
        const bytes = engine.save(""), pieces = await Tfnorm.engine(await Tfnorm.module()), asked = [];
        assert.deepEqual(pieces.open({ size: bytes.length, read: (at, n) => (asked.push(n), bytes.slice(at, at + n)) }), about);
        assert(asked.length > 1 && Math.max(...asked) < bytes.length);
        const cut = await Tfnorm.engine(await Tfnorm.module());
        assert.throws(() => cut.open({ size: bytes.length, read: (at, n) => bytes.slice(at, Math.min(at + n, 5000)) }), /^Error: /);
        for (let i = 0; i < 3 * about.context; i++) assert(reader.read(5, about.vocab).every(Number.isFinite));
        // by words, which have a space in front
        const words = await started(undefined, "pre", "--layers", "1", "--task", "markov");
        const third = await Tfnorm.engine(await Tfnorm.module());
        third.begin("ba me fe", third.open(words.save("playground task=markov")).vocab);
        assert.equal(third.ids().map(id => Buffer.from(third.token(id)).toString()).join(""), " ba me fe");
        const other = await Tfnorm.engine(await Tfnorm.module());
        const pairs = await started(undefined, "pre", "--layers", "1");
        assert.throws(() => other.open(pairs.save("")), /^Error: it is no decoder/);
    },
    // A user's text, by bytes: the output resembles the text, and a checkpoint keeps the bytes' ids.
    async text() {
        const words = "Zwölf Boxkämpfer\tjagen\nVictor 'quer' über den \"Sylter\" Deich \\ 0123.";
        const bytes = new TextEncoder().encode(words.repeat(20)), args = ["pre", "--layers", "1", "--task", "file"];
        const engine = await Tfnorm.engine(await Tfnorm.module());
        const hash = engine.text(bytes);
        assert.equal(hash, [...bytes].reduce((h, b) => BigInt.asUintN(64, (h ^ BigInt(b)) * 1099511628211n), 14695981039346656037n).toString(16).padStart(16, "0"));
        engine.start(args);
        train(engine, 400);
        assert(engine.heldOut() < 0.3, engine.heldOut());
        const sample = engine.sample(3), shown = words.replace("\t", "⇥").replace("\n", "↵").repeat(3);
        assert(shown.includes((sample.read + sample.right).replace(/^\ufffd|\ufffd$/g, "")), sample.read + sample.right);
        assert.equal(sample.wrote, sample.right);
        const { queries } = engine.attention(0, 1, 0, 0, 0);
        assert(queries.length === 32 && queries.every(t => /^([ -~]|↵|⇥|[89a-f][0-9a-f])$/.test(t)), queries.join());
        const reader = await Tfnorm.engine(await Tfnorm.module()), about = reader.open(engine.save(""));
        assert.equal(about.vocab, new Set(bytes).size);
        reader.begin(words, about.vocab);
        assert.equal(Buffer.concat(reader.ids().map(id => Buffer.from(reader.token(id)))).toString(), words.slice(-reader.ids().length));
        for (const [text, wrong] of [[bytes.slice(0, 999), /^Error: the text has 999 bytes; at least 1000 are needed$/]]) {
            const other = await Tfnorm.engine(await Tfnorm.module());
            assert.throws(() => other.text(text), wrong);
        }
        const none = await Tfnorm.engine(await Tfnorm.module());
        assert.throws(() => none.start(args), /^Error: --task file needs --text FILE$/);
    },
    // A user's model: own.c does the same run.
    async own(kind) {
        const engine = await Tfnorm.engine(await Tfnorm.module(kind)), rows = 4, time = 12, vocab = 29;
        engine.model({ vocab, context: time, batch: rows, recipe: "deepnorm", "schedule.lr": 0.003, dropout: 0.1 });
        for (let step = 0; step < 30; step++) {
            const at = Array.from({ length: rows * time }, (_, i) => i);
            engine.train(at.map(i => (i * i + step) % vocab), at.map(i => (7 * i + step) % vocab), rows, time);
        }
        console.log(engine.ownHash());
        assert.throws(() => engine.train([1, 2], [1, 2], 1, 3), /1 rows of 3 tokens are needed/);
        assert.equal(engine.logits([1, 2, 3], 1, 3).length, 3 * vocab);
        const wrong = await Tfnorm.engine(await Tfnorm.module(kind));
        assert.throws(() => wrong.model({ vocab: 5, contxt: 3 }), /contxt/);
    },
    async memory() {
        const engine = await started(undefined, "post", "--layers", "1");
        train(engine, 20);
        engine.sample(0);
        engine.attention(0, 0, 0, 0, 0);
        engine.heldOut();
        engine.save("");
        const before = engine.bytes();
        train(engine, 2000);
        for (let row = 0; row < 50; row++) {
            engine.sample(row);
            engine.attention(row, 0, 0, 0, 0);
            engine.save("");
        }
        assert.equal(engine.bytes(), before);
    },
    async numbers() {
        for (const x of [0, 1, -2.5, 0.00012345, 0.000099999, 123456, 1234567, 1e21, 3.14159265, -1e-7, 0.5])
            for (const [precision, form] of [[4, "g"], [-1, "g"], [3, "f"], [2, "e"], [10, "g"]])
                console.log(Tfnorm.printed(x, precision, form));
    },
};
tests[test](...rest).catch(error => { console.log(error.stack); process.exit(1); });
