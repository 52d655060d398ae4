// The picture that answers the title: one layer of each side, drawn small, with the differences marked.
// Pointing at a box, tapping it or moving the focus to it shows its formula and the sizes of the
// vectors that pass through it.
"use strict";
const Picture = (() => {
    const RAIL = 3, TRUNK = 22, BRANCH = 52;                     // columns of drawing.h
    const columns = new Map([[RAIL, 12], [(RAIL + TRUNK) >> 1, 33], [TRUNK, 62], [BRANCH, 154], [76, 222]]);
    const WORD = 0, LINE = 1, SUM = 2, PLAIN = 3, SCALE = 4, IN = 5, BRANCH_NORM = 6, AFTER = 7, INNER = 8, FINAL = 9;
    const looks = ["word", "line", "sum", "plain", "scale", "in", "branch", "after", "inner", "final"];
    const norms = { layernorm: "LayerNorm", rmsnorm: "RMSNorm" };

    // Sub-layers end with a line down the stream. kind: as in the engine's sub-layers.
    const kinds = [/^(self-attention|W_Q)/, /^cross-attention/, /^feed-forward(?! 1)/, /^feed-forward 1/];
    function split(items) {
        let first = 0, kind = -1;
        items.forEach((item, i) => {
            const found = kinds.findIndex(k => item.look === PLAIN && k.test(item.text));
            if (found >= 0 && !(found === 0 && kind === 1)) kind = found;
            if (item.look !== LINE || item.x !== TRUNK || item.x2 !== TRUNK) return;
            for (; first <= i; first++) items[first].kind ??= kind;
            kind = -1;
        });
        return items;
    }
    function label(item, norm) {
        if (item.look >= IN && item.look <= INNER && /^N_/.test(item.text)) return norms[norm] || (norm.length < 11 ? norm : "Norm");
        const text = item.text.replace(/^self-attention$/, "Attention").replace(/^cross-attention.*/, "Cross-att.")
            .replace(/^feed-forward: /, "").replace(/^feed-forward/, "Feed-forward").replace(/^\* /, "× ").replace(/^W_Q.*/, "W_Q W_K W_V")
            .replace(/, profiled$/, "").replace(/, from .*/, "").replace(/^norms of /, "Norm ").replace(/^q, k of length 1.*/, "Norm q, k");
        return text.length > 13 ? text.slice(0, 12) + "…" : text;
    }
    const isBox = item => item.look !== WORD && item.look !== LINE;
    // The boxes of a layer from top to bottom, with their labels.
    function boxes(items, norm) {
        return split(items).filter(isBox).map(item => Object.assign(item, { label: label(item, norm) }))
            .sort((a, b) => a.y - b.y || a.x - b.x);
    }
    // Marks the boxes of each side that the other side does not have in this order.
    function compare(a, b) {
        const key = item => `${item.x} ${item.look} ${item.label}`, A = a.map(key), B = b.map(key);
        const length = Array.from({ length: A.length + 1 }, () => new Array(B.length + 1).fill(0));
        for (let i = A.length - 1; i >= 0; i--)
            for (let j = B.length - 1; j >= 0; j--)
                length[i][j] = A[i] === B[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
        let i = 0, j = 0;
        while (i < A.length || j < B.length)
            if (i < A.length && j < B.length && A[i] === B[j]) i++, j++;
            else if (j === B.length || (i < A.length && length[i + 1][j] >= length[i][j + 1])) a[i++].apart = true;
            else b[j++].apart = true;
    }
    // Where the norms and scales are, as a sentence.
    function places(list) {
        const has = (look, x) => list.some(item => item.look === look && (x === undefined || item.x === x));
        const said = [];
        if (has(IN)) said.push("placeIn");
        if (has(BRANCH_NORM)) said.push("placeBranch");
        if (has(AFTER)) said.push("placeSum");
        if (has(INNER)) said.push("placeInner");
        if (has(SCALE, TRUNK)) said.push("placeSkip");
        if (has(SCALE, BRANCH)) said.push("placeScale");
        const sums = list.filter(item => item.look === SUM && item.x === TRUNK).length;
        if (sums > new Set(list.map(item => item.kind)).size) said.push("placeExtra");
        if (!said.length) said.push("placeNone");
        const text = said.map(name => say(name)).join("; ");
        return text[0].toUpperCase() + text.slice(1) + ".";
    }

    // The layer as SVG. Rows without a box are low.
    function svg(items, list, name) {
        const full = new Set(list.map(item => item.y)), rows = Math.max(...items.map(i => Math.max(i.y, i.y2))) + 1;
        const middle = [];
        let y = 20;
        for (let row = 0; row < rows; row++) {
            const high = full.has(row) ? 31 : 11;
            middle.push(y + high / 2);
            y += high;
        }
        const end = y + 12, X = x => columns.get(x) ?? columns.get(TRUNK) + (x - TRUNK) * 3, escape = t => t.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
        let lines = `<path d="M${X(TRUNK)} 16V${end}m-5 -8l5 8l5 -8"/>`, shapes = `<text class="word" x="${X(TRUNK)}" y="12">x</text>`, right = 212;
        for (const item of items) {
            if (item.look === LINE) lines += `<path d="M${X(item.x)} ${middle[item.y]}L${X(item.x2)} ${middle[item.y2]}"/>`;
            if (item.look === WORD && /^(x_0|y$|n,)/.test(item.text))
                shapes += `<text class="word" x="${item.left ? X(RAIL) + 12 : X(item.x)}" y="${middle[item.y] + 4}">${escape(item.text.replace("x_0", "x₀").replace(/,.*/, ""))}</text>`;
        }
        list.forEach((item, i) => {
            const x = X(item.x), at = middle[item.y], half = item.look === SUM ? 10 : Math.max(22, item.label.length * 3.9 + 10);
            right = Math.max(right, x + half + 3);
            const shape = item.look === SUM ? `<circle class="sum" cx="${x}" cy="${at}" r="10"/>` :
                `<rect class="${looks[item.look]}" x="${x - half}" y="${at - 12.5}" width="${2 * half}" height="25" rx="5"/>`;
            shapes += `<g class="box${item.apart ? " apart" : ""}" data-box="${i}" tabindex="0" role="img">${shape}<text x="${x}" y="${at + 4.5}">${escape(item.label)}</text></g>`;
        });
        return `<svg viewBox="0 0 ${right} ${end + 2}" role="group" aria-label="${escape(name)}"><g class="lines">${lines}</g>${shapes}</svg>`;
    }

    const sizeOf = x => x > 0 && Number.isFinite(x) ? Charts.short(x) : "–";
    // Explains a box. seen: the engine's row of its sub-layer, or undefined.
    function about(item, seen = {}, norm) {
        const values = { input: sizeOf(seen.input), read: sizeOf(seen.read || seen.input), branch: sizeOf(seen.branch), sum: sizeOf(seen.sum || seen.stream),
                         stream: sizeOf(seen.stream), gradient: sizeOf(seen.gradient), text: item.text };
        const normed = norm ? `${norm.name}: ${norm.formula}\n` : "";
        switch (item.look) {
        case SUM: return say("boxSum", values);
        case IN: return normed + say("boxIn", values);
        case BRANCH_NORM: return normed + say("boxBranch", values);
        case AFTER: return normed + say("boxAfter", values);
        case INNER: return normed + say("boxInner", values);
        case SCALE: return say("boxScale", values);
        case FINAL: return say("boxFinal", values);
        default: return say(["boxSelf", "boxCross", "boxFeed", "boxFeed"][item.kind] || "boxSelf", values);
        }
    }
    return { boxes, compare, places, svg, about, size: sizeOf };
})();
