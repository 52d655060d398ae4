// Tfnorm: engine.c for JavaScript, in pages, workers and node.
//
//     const module = await Tfnorm.module();            // the best of three that runs here
//     const engine = await Tfnorm.engine(module);      // one model
//     engine.start(["post", "--layers", "4", "--lr", "0.008"]);    // arguments of normlab compare
//     const { step, loss } = engine.step();            // one update
//     engine.sample(0)                                 // { read, wrote, right }
//     other.model({ vocab: 256, context: 64, batch: 16, recipe: "pre" });      // on your tokens:
//     other.train(tokens, targets, 16, 64)             // see examples/21_web.html
//
// A call that fails throws an Error with the engine's own text, and ends that engine.
"use strict";
var Tfnorm = (() => {
    const encoder = new TextEncoder(), decoder = new TextDecoder();
    const columns = {                   // of structs of doubles in engine.c
        report: ["step", "loss", "nll", "rate", "gradient", "tokens", "skipped"],
        seen: ["stack", "layer", "kind", "gradient", "arriving", "stream", "branch", "moved",
               "weights", "input", "read", "sum"],
    };
    const rowKinds = ["recipe", "norm", "init", "optimizer", "schedule"];
    const rowColumns = ["name", "formula", "paper", "norm", "init", "needs"];

    // A number as C's printf writes it: conversion "f", "e" or "g".
    function printed(x, precision, conversion) {
        if (Number.isNaN(x)) return "nan";
        if (!Number.isFinite(x)) return x < 0 ? "-inf" : "inf";
        if (precision < 0) precision = 6;
        if (conversion === "f" && Math.abs(x) < 1e21) return x.toFixed(precision);
        if (conversion === "f") return BigInt(x) + (precision ? "." + "0".repeat(precision) : "");
        const digits = conversion === "g" ? Math.max(precision, 1) - 1 : precision;
        const [mantissa, exponent] = x.toExponential(digits).split("e");
        const power = Number(exponent);
        const short = s => s.includes(".") ? s.replace(/\.?0+$/, "") : s;
        if (conversion === "g" && power >= -4 && power <= digits) return short(x.toFixed(digits - power));
        const sign = power < 0 ? "-" : "+";
        return (conversion === "g" ? short(mantissa) : mantissa) + "e" + sign +
            String(Math.abs(power)).padStart(2, "0");
    }

    // Turns a message of normlab for a terminal into one for a page.
    const plain = said => said.trim().replace(/^normlab: /, "").replace(/; normlab --help says more$/, "");

    class Engine {
        #wasm; #said = ""; #broken = null; #file = null;

        constructor(wasm) { this.#wasm = wasm; }

        static async create(module) {
            const engine = new Engine(null);
            const env = {
                print: (at, bytes, isError) => {
                    if (isError) engine.#said += decoder.decode(engine.#bytes(at, bytes));
                },
                number: (at, x, precision, conversion) => {
                    const text = encoder.encode(printed(x, precision, String.fromCharCode(conversion)));
                    engine.#bytes(at, text.length).set(text);
                    return text.length;
                },
                read: (at, to, bytes) => {
                    const got = engine.#file.read(at, bytes);
                    if (got.length !== bytes) return 0;
                    engine.#bytes(to, bytes).set(got);
                    return 1;
                },
                exit: () => { throw new Error(plain(engine.#said) || "out of memory"); },
            };
            for (const name of ["exp", "log", "log10", "pow", "sin", "cos", "tanh", "atan"]) env[name] = Math[name];
            engine.#wasm = (await WebAssembly.instantiate(module, { env })).exports;
            return engine;
        }

        #bytes(at, count) { return new Uint8Array(this.#wasm.memory.buffer, at, count); }
        #put(text) {
            const bytes = encoder.encode(text + "\0");
            this.#bytes(this.#wasm.engine_text(), bytes.length).set(bytes);
        }
        #text(at = this.#wasm.engine_text()) {
            const all = new Uint8Array(this.#wasm.memory.buffer);
            return decoder.decode(all.subarray(at, all.indexOf(0, at)));
        }
        #struct(at, names) {
            const values = new Float64Array(this.#wasm.memory.buffer, at, names.length);
            return Object.fromEntries(names.map((name, i) => [name, values[i]]));
        }
        #call(name, ...args) {
            if (this.#broken) throw this.#broken;
            this.#said = "";
            try { return this.#wasm[name](...args); }
            catch (error) { throw this.#broken = error; }
        }

        bits() { return this.#text(this.#call("engine_bits")); }
        selfcheck() { return BigInt.asUintN(64, this.#call("engine_selfcheck")).toString(16).padStart(16, "0"); }

        // Rows of the library: [{ name, formula, paper ... }].
        rows(kind) {
            this.#call("engine_rows", rowKinds.indexOf(kind));
            return this.#text().split("\n").filter(line => line).map(line =>
                Object.fromEntries(line.split("\t").map((cell, i) => [rowColumns[i], cell])));
        }
        // The items of a recipe's block, or only of its layer: see drawing.h. stack: 0 encoder and 1
        // decoder of a pair, 3 a decoder without an encoder.
        block(recipe, stack, layers, layer, whole = true) {
            this.#put(recipe);
            this.#call("engine_block", stack, layers, layer, whole ? 1 : 0);
            return this.#text().split("\n").filter(line => line).map(line => {
                const [look, x, y, x2, y2, left, text] = line.split("\t");
                return { look: +look, x: +x, y: +y, x2: +x2, y2: +y2, left: left === "1", text };
            });
        }

        // Takes the text of --task file, as bytes, before the start. Returns its hash.
        text(bytes) {
            const at = this.#call("engine_allocate", bytes.length);
            if (!at) throw new Error("out of memory");
            this.#bytes(at, bytes.length).set(bytes);
            this.#call("engine_take_text", at, bytes.length);
            return BigInt.asUintN(64, this.#call("engine_text_hash")).toString(16).padStart(16, "0");
        }
        start(args) {
            this.#put(args.join("\0"));
            this.#call("engine_start", args.length);
        }
        step(measured = false) {
            return this.#struct(this.#call("engine_step", measured ? 1 : 0), columns.report);
        }
        // The measurements of the last measured step, a row for each sub-layer.
        sublayers() {
            const at = this.#call("engine_sublayers"), bytes = 8 * columns.seen.length;
            return Array.from({ length: this.#call("engine_sublayer_count") }, (_, i) =>
                this.#struct(at + bytes * i, columns.seen));
        }
        heldOut() { return this.#call("engine_held_out"); }
        guessing() { return this.#call("engine_guessing"); }
        hash() { return BigInt.asUintN(64, this.#call("engine_hash")).toString(16).padStart(16, "0"); }
        updates() { return this.#call("engine_updates"); }
        bytes() { return this.#wasm.memory.buffer.byteLength; }          // of the whole engine
        memory() { return this.#call("engine_memory"); }
        parameters() { return this.#call("engine_parameters"); }
        rate(update) { return this.#call("engine_rate", update); }

        // The texts of sentence `row` of the 128 that are held out.
        sample(row) {
            this.#call("engine_sample", row);
            const [read, wrote, right] = this.#text().split("\t");
            return { read, wrote, right };
        }
        // kind: 0 self, 1 cross-attention; null: there is no such attention.
        attention(row, stack, layer, kind, head) {
            const at = this.#call("engine_attention", row, stack, layer, kind, head);
            if (!at) return null;
            const [rows, cols, ...words] = this.#text().split("\n");
            return {
                queries: words.slice(0, +rows), keys: words.slice(+rows, +rows + +cols),
                weights: new Float32Array(this.#wasm.memory.buffer, at, rows * cols).slice(),
            };
        }

        // A checkpoint as bytes, which tfn and normlab read, too. extra: a text to store in it.
        save(extra) {
            this.#put(extra);
            const at = this.#call("engine_allocate", 4);
            const bytes = this.#call("engine_save", at);
            const where = new Uint32Array(this.#wasm.memory.buffer, at, 1)[0];
            const copy = this.#bytes(where, bytes).slice();
            this.#call("engine_release", where);
            this.#call("engine_release", at);
            return copy;
        }
        #take(bytes, use) {
            const at = this.#call("engine_allocate", bytes.length);
            if (!at) throw new Error("out of memory");
            this.#bytes(at, bytes.length).set(bytes);
            const result = use(at);
            this.#call("engine_release", at);
            return result;
        }
        extra(bytes) {
            return this.#take(bytes, at => this.#call("engine_peek", at, bytes.length) ? this.#text() : "");
        }
        // A model with options of tfn_model_desc by their names, { vocab: 256, context: 64,
        // batch: 16, recipe: "post", "schedule.lr": 0.002 }; its tokens and targets (rows, time).
        #own = 0;
        model(options) {
            for (const name in options) {
                this.#put(name + "\0" + options[name]);
                this.#call("own_set");
            }
            this.#own = this.#call("own_make");
        }
        #fill(tokens, targets, rows, time) {
            const room = this.#call("own_rows") * this.#call("own_context");
            if (tokens.length !== rows * time || rows * time > room || targets.length !== rows * time)
                throw new Error(`${rows} rows of ${time} tokens are needed, and as many targets; the model takes ${room}`);
            const all = new Int32Array(this.#wasm.memory.buffer, this.#own, 2 * room);
            all.set(tokens);
            all.set(targets, room);
        }
        // One update; a target below 0 does not count.
        train(tokens, targets, rows, time) {
            this.#fill(tokens, targets, rows, time);
            return this.#struct(this.#call("own_step", rows, time), columns.report);
        }
        // The scores of each token, (rows * time, vocab).
        logits(tokens, rows, time) {
            this.#fill(tokens, tokens, rows, time);
            return this.#scores(this.#call("own_logits", rows, time), rows * time * this.#call("own_vocab"));
        }
        ownHash() { return BigInt.asUintN(64, this.#call("own_hash")).toString(16).padStart(16, "0"); }

        // Opens a model that continues texts. Returns its description, { recipe, layers ... }. The
        // file: bytes, or { size, read(at, bytes) }.
        open(file) {
            if (file instanceof Uint8Array)
                this.#file = { size: file.length, read: (at, bytes) => file.subarray(at, at + bytes) };
            else this.#file = file;
            try { this.#call("writer_open", this.#file.size); }
            finally { this.#file = null; }
            return Object.fromEntries(this.#text().trim().split("\n").map(line => line.split("\t"))
                .map(([name, value]) => [name, /^[0-9]+$/.test(value) ? Number(value) : value]));
        }
        #scores(at, count) { return at && new Float32Array(this.#wasm.memory.buffer, at, count).slice(); }
        // The scores of the next token after a text, and then after one more token.
        begin(text, vocab) {
            this.#put(text.slice(-40000));
            return this.#scores(this.#call("writer_begin"), vocab);
        }
        read(id, vocab) { return this.#scores(this.#call("writer_read", id), vocab); }
        ids() { return Array.from({ length: this.#call("writer_length") }, (_, i) => this.#call("writer_id", i)); }
        end() { return this.#call("writer_end"); }
        token(id) { return this.#bytes(this.#wasm.engine_text(), this.#call("writer_token", id)).slice(); }
        // The attention weights of token `id` on each token before it and on itself; head -1: the
        // mean of all heads; null: the context is full.
        attends(id, layer, head = -1) {
            return this.#scores(this.#call("writer_attention", id, layer, head), this.#call("writer_length") + 1) || null;
        }
        // The scores of the next token if the model ended after this many layers.
        lens(layers, vocab) {
            const at = this.#call("writer_lens", layers);
            if (!at) throw new Error(this.#text());
            return this.#scores(at, vocab);
        }

        load(bytes) { this.#take(bytes, at => this.#call("engine_load", at, bytes.length)); }
    }

    // Modules as base64 of gzip, { relaxed, simd, plain }, which build.sh puts there.
    const embedded = {};
    async function unpack(base64) {
        const text = atob(base64), bytes = new Uint8Array(text.length);
        for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);    // from() takes ten times as long
        const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
        return new Uint8Array(await new Response(stream).arrayBuffer());
    }
    // The first that compiles and, of relaxed SIMD, has the canonical bits; only: that one or none.
    async function module(only) {
        for (const name of ["relaxed", "simd", "plain"]) {
            if ((only && name !== only) || !embedded[name]) continue;
            try {
                const found = await WebAssembly.compile(await unpack(embedded[name]));
                const bits = (await Engine.create(found)).bits();
                if (name !== "relaxed" || bits === "canonical" || only) return Object.assign(found, { kind: name });
            } catch (error) {
                if (!(error instanceof WebAssembly.CompileError)) throw error;
            }
        }
        throw new Error("no WebAssembly" + (only ? " of the kind " + only : ""));
    }
    return { Engine, embedded, module, engine: Engine.create, printed };
})();
if (typeof exports === "object") Object.assign(exports, Tfnorm);
