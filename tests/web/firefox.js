// node firefox.js FOLDER [there]: the page in a headless Firefox, over its built-in Marionette protocol:
// messages "LENGTH:[...]" on a socket. Loads from file://, trains both sides; prints the hashes after
// 200 updates and the command that the page shows for them.
const assert = require("assert"), { spawn } = require("child_process"), fs = require("fs"), net = require("net"), os = require("os"), path = require("path");
const { pathToFileURL } = require("url");

const command = () => ["firefox-esr", "firefox"].flatMap(name => process.env.PATH.split(path.delimiter).map(folder => path.join(folder, name)))
    .find(file => fs.existsSync(file));
const pause = milliseconds => new Promise(done => setTimeout(done, milliseconds));

async function freePort() {
    const server = net.createServer().listen(0, "127.0.0.1");
    await new Promise(done => server.on("listening", done));
    const { port } = server.address();
    await new Promise(done => server.close(done));
    return port;
}
// A socket, as soon as the port accepts one.
async function connected(port) {
    for (let i = 0; i < 300; i++, await pause(200)) {
        const socket = net.connect(port, "127.0.0.1");
        const open = await new Promise(done => { socket.on("connect", () => done(true)); socket.on("error", () => done(false)); });
        if (open) return socket;
    }
    throw new Error("Firefox does not listen");
}

async function launch() {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), "tfnorm-web-")), port = await freePort();
    fs.writeFileSync(path.join(profile, "user.js"), `user_pref("marionette.port", ${port});
user_pref("datareporting.policy.dataSubmissionEnabled", false); user_pref("toolkit.telemetry.server", "");
user_pref("ui.prefersReducedMotion", 1); user_pref("app.update.enabled", false); user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false); user_pref("services.settings.server", "data:,");
`);
    const child = spawn(command(), ["--headless", "--no-remote", "--marionette", "--profile", profile, "about:blank"],
        { stdio: "ignore", env: { ...process.env, HOME: profile, MOZ_HEADLESS: "1" } });
    const socket = await connected(port), waiting = new Map();
    let rest = Buffer.alloc(0), id = 0;
    socket.on("data", data => {
        rest = Buffer.concat([rest, data]);
        for (;;) {
            const colon = rest.indexOf(58), length = Number(rest.subarray(0, Math.max(colon, 0)));
            if (colon < 0 || rest.length < colon + 1 + length) return;
            const message = JSON.parse(rest.subarray(colon + 1, colon + 1 + length));
            rest = rest.subarray(colon + 1 + length);
            if (!Array.isArray(message)) continue;                      // its greeting
            const [, number, error, result] = message, done = waiting.get(number);
            waiting.delete(number);
            if (done) done(error ? { error } : { result });
        }
    });
    async function send(name, parameters = {}) {
        const text = JSON.stringify([0, ++id, name, parameters]);
        const answer = new Promise(done => waiting.set(id, done));
        socket.write(Buffer.byteLength(text) + ":" + text);
        const { error, result } = await answer;
        if (error) throw new Error(`${name}: ${error.message}`);
        return result;
    }
    // The value of an expression, which may be a promise: an element of the page has its scope, and its
    // policy forbids eval.
    async function run(expression) {
        const script = `const done = arguments[arguments.length - 1], own = window.wrappedJSObject || window, e = document.createElement("script");
            e.textContent = "globalThis.answer = Promise.resolve().then(() => (" + arguments[0] + ")).then(value => JSON.stringify({ value }), error => JSON.stringify({ error: String(error) }))";
            document.head.append(e);
            own.answer.then(text => done(text));`;
        const { value: text } = await send("WebDriver:ExecuteAsyncScript", { script, args: [expression], sandbox: null, scriptTimeout: 60000 });
        const { value, error } = JSON.parse(text);
        if (error) throw new Error(error);
        return value;
    }
    async function until(expression, seconds) {
        for (const end = Date.now() + 1000 * seconds; Date.now() < end; await pause(200))
            if (await run(`!!(${expression})`).catch(() => false)) return;
        throw new Error(`not within ${seconds} s: ${expression}`);
    }
    async function close() {
        const ended = new Promise(done => child.on("exit", done));
        await Promise.race([send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => 0), pause(5000)]);
        await Promise.race([ended, pause(5000)]);
        child.kill();
        socket.destroy();
        fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
    return { send, run, until, close };
}

async function main() {
    const page = await launch();
    try {
        await page.send("WebDriver:NewSession", { capabilities: { alwaysMatch: {} } });
        await page.send("WebDriver:Navigate", { url: pathToFileURL(path.resolve(process.argv[2], "playground.html")).href + "#lang=en&layers=1" });
        await page.until("typeof runs === 'object' && module && runs.every(r => r.ready || r.error)", 120);
        assert.equal(await page.run("$('problem').textContent"), "");
        await page.run("play(), 0");
        await page.until("runs.every(r => r.hashes.has(200))", 300);
        await page.run("setPlaying(false), new Promise(done => setTimeout(done, 500)).then(() => showHashes())");
        for (const side of ["left", "right"]) console.log(await page.run(`$('hashes').querySelector('.${side} code').textContent`));
        console.log(await page.run("$('hashes').querySelector('pre').textContent"));
    } finally { await page.close(); }
}
if (process.argv[3] === "there") process.exit(command() ? 0 : 1);
main().then(() => process.exit(0), error => { console.log(error.stack); process.exit(1); });
