// What both pages share: elements, a worker that answers, texts, light and dark.
"use strict";
const $ = id => document.getElementById(id);
const element = (name, attributes = {}, ...inside) => {
    const e = Object.assign(document.createElement(name), attributes);
    e.append(...inside);
    return e;
};

const source = URL.createObjectURL(new Blob([$("engine").textContent, $("worker").textContent],
    { type: "text/javascript" }));
class Side {
    #worker = null; #waiting = new Map(); #id = 0;
    constructor() { this.renew(); }
    // A worker in the midst of something is not waited for.
    renew() {
        if (this.#worker) this.#worker.terminate();
        for (const done of this.#waiting.values()) done({ error: "replaced" });
        this.#waiting.clear();
        this.#worker = new Worker(source);
        this.#worker.onmessage = ({ data }) => {
            const done = this.#waiting.get(data.id);
            this.#waiting.delete(data.id);
            if (done) done(data);
        };
    }
    end() { this.#worker.terminate(); }
    ask(call, more = {}) {
        const id = ++this.#id;
        return new Promise(done => {
            this.#waiting.set(id, done);
            this.#worker.postMessage({ id, call, ...more });
        });
    }
}

function problem(text) {
    $("problem").textContent = text;
    $("problem").hidden = !text;
}
function showWords() {
    document.documentElement.lang = language ? "de" : "en";
    for (const e of document.querySelectorAll("[data-text]")) e.textContent = say(e.dataset.text);
    for (const e of document.querySelectorAll("[data-label]")) {
        e.title = say(e.dataset.label);
        e.setAttribute("aria-label", e.title);
    }
    $("language").textContent = say("language");
    $("language").lang = language ? "en" : "de";
}
// The engine's module, or null, and it is said why there is none.
async function loaded() {
    try { return await Tfnorm.module(); }
    catch (error) { problem(say("noEngine", { why: error.message })); return null; }
}
// use(file, event) takes a file that is dropped anywhere, use(file) one that is chosen.
function droppedFiles(use) {
    ondragover = event => event.preventDefault();
    ondrop = event => {
        event.preventDefault();
        if (event.dataTransfer.files[0]) use(event.dataTransfer.files[0], event);
    };
}
function chosenFiles(input, use) {
    input.onchange = () => { if (input.files[0]) use(input.files[0]); input.value = ""; };
    return () => input.click();
}
const spokenNumber = x => x.toLocaleString(language ? "de" : "en");
// Light or dark as the system is, until the button is pressed; changed: called after each change.
function themes(changed) {
    const prefers = matchMedia("(prefers-color-scheme: dark)");
    const set = dark => {
        document.documentElement.classList.toggle("dark", dark);
        changed();
    };
    set(prefers.matches);
    prefers.onchange = () => set(prefers.matches);
    $("theme").onclick = () => set(!document.documentElement.classList.contains("dark"));
}
