// A headless Chromium, driven over its debugging protocol through two pipes, without any package.
//     const page = await open(file, { width, dark });   await page.run("1 + 1");   page.close();
const { spawn } = require("child_process"), fs = require("fs"), os = require("os"), path = require("path");

function command() {
    for (const name of ["chromium", "chromium-browser", "google-chrome", "chrome"])
        for (const folder of process.env.PATH.split(path.delimiter))
            if (fs.existsSync(path.join(folder, name))) return path.join(folder, name);
    return null;
}

async function launch() {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), "tfnorm-web-"));
    const child = spawn(command(), ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
        "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`,
        "about:blank"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const waiting = new Map(), listeners = [];
    let id = 0, rest = "";
    child.stdio[4].setEncoding("utf8");
    child.stdio[4].on("data", data => {
        const parts = (rest + data).split("\0");
        rest = parts.pop();
        for (const message of parts.map(text => JSON.parse(text))) {
            const done = waiting.get(message.id);
            waiting.delete(message.id);
            if (done) done(message);
            else for (const listener of listeners) listener(message);
        }
    });
    async function send(method, params = {}, sessionId) {
        const number = ++id;
        child.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId }) + "\0");
        const answer = await new Promise(done => waiting.set(number, done));
        if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
        return answer.result;
    }
    async function close() {
        const ended = new Promise(done => child.on("exit", done));
        await Promise.race([send("Browser.close"), new Promise(done => setTimeout(done, 3000))]);
        await Promise.race([ended, new Promise(done => setTimeout(done, 5000))]);
        child.kill();
        fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    }
    return { send, listeners, close };
}

// A page of a file, with all its messages and requests: problems, requests. motion: it may move, and begins
// by itself.
async function open(browser, url, { width = 1280, height = 900, dark = false, scale = 1, motion = false, before = "" } = {}) {
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await browser.send("Target.attachToTarget", { targetId, flatten: true });
    const send = (method, params) => browser.send(method, params, sessionId);
    const problems = [], requests = [];
    browser.listeners.push(({ method, params, sessionId: from }) => {
        if (from !== sessionId) return;
        if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
        if (method === "Runtime.consoleAPICalled" && params.type === "error") problems.push(JSON.stringify(params.args));
        if (method === "Log.entryAdded" && params.entry.level === "error") problems.push(params.entry.text);
        if (method === "Network.requestWillBeSent") requests.push(params.request.url);
    });
    for (const domain of ["Runtime", "Log", "Network", "Page"]) await send(domain + ".enable");
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: width < 500 });
    const moves = on => send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
        { name: "prefers-reduced-motion", value: on ? "no-preference" : "reduce" }] });
    await moves(motion);
    await send("Page.addScriptToEvaluateOnNewDocument", { source: before });
    await send("Page.navigate", { url });
    // The value of an expression, which may be a promise.
    async function run(expression) {
        const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description || exceptionDetails.text);
        return result.value;
    }
    async function until(expression, seconds = 60) {
        for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
            if (await run(`!!(${expression})`).catch(() => false)) return;
            await new Promise(done => setTimeout(done, 50));
        }
        throw new Error(`not within ${seconds} s: ${expression}; ${problems.join("; ")}`);
    }
    async function picture(file, whole = true) {
        const { data } = await send("Page.captureScreenshot", { captureBeyondViewport: whole });
        fs.writeFileSync(file, Buffer.from(data, "base64"));
    }
    return { run, until, picture, send, moves, problems, requests };
}
// The work of the page's own thread during `during`, in milliseconds of processor time, the longest
// tasks first. A wall clock would include other programs. The page sets the mark "here", which tells
// its thread from those of the browser's own pages.
async function tasks(browser, during) {
    const events = [], begin = { includedCategories: ["toplevel", "blink.user_timing"], excludedCategories: ["*"] };
    let completed;
    const complete = new Promise(done => completed = done);
    browser.listeners.push(({ method, params }) => {
        if (method === "Tracing.dataCollected") events.push(...params.value);
        if (method === "Tracing.tracingComplete") completed();
    });
    await browser.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: begin });
    await during();
    await browser.send("Tracing.end");
    await complete;
    browser.listeners.pop();
    const { pid, tid } = events.find(e => e.name === "here");
    // Promises continue after a task, in a separate event.
    return events.filter(e => e.tdur && e.pid === pid && e.tid === tid && /RunTask|MicrotaskCheckpoint/.test(e.name))
        .map(e => e.tdur / 1000).sort((a, b) => b - a);
}
module.exports = { command, launch, open, tasks };
