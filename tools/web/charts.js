// Charts on canvases, in the colors of the page's style. Left: a solid line and circles; right: a
// dashed line and squares, so that no color is needed to tell them apart.
"use strict";
const Charts = (() => {
    // The style is asked once, and again when its colors change.
    let known = {};
    const css = name => known[name] ??= getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const restyle = () => { known = {}; };
    const sides = () => [css("--left"), css("--right")];

    // A canvas in the resolution of the screen; null while it is not shown.
    function context(canvas) {
        const scale = window.devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = canvas;
        if (!w || !h) return null;
        if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
            canvas.width = Math.round(w * scale);
            canvas.height = Math.round(h * scale);
        }
        const c = canvas.getContext("2d");
        c.setTransform(scale, 0, 0, scale, 0, 0);
        c.clearRect(0, 0, w, h);
        c.font = "12px " + css("--font");
        c.lineWidth = 1;
        return { c, w, h };
    }
    function nice(most, count) {
        const raw = most / count, power = 10 ** Math.floor(Math.log10(raw));
        return [1, 2, 2.5, 5, 10].find(x => x * power >= raw) * power;
    }
    function short(x) {
        if (x === 0) return "0";
        if (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5) return String(+x.toPrecision(3));
        return x.toExponential(1).replace("e+", "e").replace(".0e", "e");
    }
    const power = n => "10" + String(n).replace(/./g, d => d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);

    function axes(c, box, xMost, yMost) {
        c.textBaseline = "middle";
        c.textAlign = "right";
        const yStep = nice(yMost, 4), xStep = nice(xMost, Math.max(2, Math.min(6, box.w / 90)));
        for (let y = 0; y <= yMost * 1.0001; y += yStep) {
            const at = Math.round(box.y + box.h * (1 - y / yMost)) + 0.5;
            c.strokeStyle = css("--grid");
            c.beginPath(); c.moveTo(box.x, at); c.lineTo(box.x + box.w, at); c.stroke();
            c.fillStyle = css("--quiet");
            c.fillText(short(y), box.x - 6, at);
        }
        c.textBaseline = "top";
        for (let x = 0; x <= xMost * 1.0001; x += xStep) {
            c.textAlign = x === 0 ? "left" : x > xMost * 0.97 ? "right" : "center";
            c.fillText(short(x), box.x + box.w * x / xMost, box.y + box.h + 6);
        }
    }
    function marker(c, x, y, side, size) {
        c.beginPath();
        if (side) c.rect(x - size, y - size, 2 * size, 2 * size);
        else c.arc(x, y, size * 1.15, 0, 7);
        c.fill();
    }

    // runs: [{ losses: [nll of update 1, 2 ...], first, held: [step, nll ...], guessing }] of both.
    function loss(canvas, runs, steps) {
        const got = context(canvas);
        if (!got) return;
        const { c, w, h } = got, box = { x: 38, y: 10, w: w - 50, h: h - 36 };
        const guess = Math.max(...runs.map(r => r.guessing || 0)) || 2.5;
        const last = runs.map(r => r.losses.slice(-30)).flat().filter(Number.isFinite);
        const yMost = Math.min(guess * 3, Math.max(guess * 1.35, ...last.map(x => x * 1.05)));
        const xMost = Math.max(steps, ...runs.map(r => r.first + r.losses.length));
        axes(c, box, xMost, yMost);
        const X = step => box.x + box.w * step / xMost;
        const Y = y => box.y + box.h * (1 - Math.min(y / yMost, 1.02));
        c.strokeStyle = c.fillStyle = css("--quiet");
        c.setLineDash([2, 4]);
        c.beginPath(); c.moveTo(box.x, Y(guess)); c.lineTo(box.x + box.w, Y(guess)); c.stroke();
        c.textAlign = "right"; c.textBaseline = "bottom";
        c.fillText(say("guessing"), box.x + box.w, Y(guess) - 3);
        runs.forEach((run, side) => {
            c.strokeStyle = c.fillStyle = sides()[side];
            c.setLineDash(side ? [7, 3] : []);
            c.lineWidth = 1.75;
            c.beginPath();
            let mean = null;
            const every = Math.max(1, Math.floor(run.losses.length / (2 * box.w)));
            run.losses.forEach((y, i) => {
                mean = mean === null || !Number.isFinite(mean) ? y : mean + (y - mean) * 0.15;
                if (i % every === 0 || i + 1 === run.losses.length) c.lineTo(X(run.first + i + 1), Y(mean));
            });
            c.stroke();
            c.setLineDash([]);
            for (let i = 0; i < run.held.length; i += 2)
                if (Number.isFinite(run.held[i + 1])) marker(c, X(run.held[i]), Y(run.held[i + 1]), side, 3);
        });
        return { box, step: x => Math.round((x - box.x) / box.w * xMost) };
    }

    // The schedules of both sides and the point that can be dragged; returns where these points are.
    function rate(canvas, runs, steps, now, peaks) {
        const got = context(canvas);
        if (!got) return [];
        const { c, w, h } = got, box = { x: 54, y: 10, w: w - 66, h: h - 34 };
        const most = Math.max(1e-12, ...runs.map(r => Math.max(0, ...r.rates))) * 1.15;
        axes(c, box, steps, most);
        const handles = [];
        runs.forEach((run, side) => {
            c.strokeStyle = c.fillStyle = sides()[side];
            c.setLineDash(side ? [7, 3] : []);
            c.lineWidth = 1.75;
            c.beginPath();
            run.rates.forEach((y, i) => c.lineTo(box.x + box.w * i / 200, box.y + box.h * (1 - y / most)));
            c.stroke();
            c.setLineDash([]);
            const x = box.x + box.w * Math.min(1, peaks[side].warmup / steps);
            const at = Math.max(0, ...run.rates);
            const y = box.y + box.h * (1 - at / most);
            marker(c, x, y, side, 6);
            handles.push({ x, y, box, most, steps });
        });
        c.strokeStyle = css("--text");
        const x = box.x + box.w * Math.min(1, now / steps);
        c.beginPath(); c.moveTo(x, box.y); c.lineTo(x, box.y + box.h); c.stroke();
        return handles;
    }

    // Bars of both sides for each sub-layer, on one logarithmic scale that is kept in `scale`.
    function bars(canvas, both, pick, scale) {
        const got = context(canvas);
        if (!got) return null;
        const { c, w, h } = got, box = { x: 36, y: 8, w: w - 42, h: h - 40 };
        const rows = both.map(side => (side.seen || []).map(s => ({ ...s, value: pick(s) })));
        const all = rows.flat().map(s => s.value).filter(v => v > 0 && Number.isFinite(v));
        if (all.length) {
            const low = Math.floor(Math.log10(Math.min(...all)) - 0.05), high = Math.ceil(Math.log10(Math.max(...all)) + 0.05);
            scale.low = Math.max(-14, Math.min(scale.low ?? low, low));
            scale.high = Math.max(scale.high ?? high, high);
        }
        const low = scale.low ?? -3, high = Math.max(scale.high ?? 0, low + 1), span = high - low;
        const Y = v => box.y + box.h * (1 - Math.min(1, Math.max(0, (Math.log10(v) - low) / span)));
        c.textAlign = "right"; c.textBaseline = "middle";
        const every = Math.ceil(span * 16 / box.h);
        for (let n = low; n <= high; n += every) {
            const y = Math.round(Y(10 ** n)) + 0.5;
            c.strokeStyle = css("--grid");
            c.beginPath(); c.moveTo(box.x, y); c.lineTo(box.x + box.w, y); c.stroke();
            c.fillStyle = css("--quiet");
            c.fillText(power(n), box.x - 5, y);
        }
        const longest = rows[0].length >= rows[1].length ? rows[0] : rows[1];
        if (!longest.length) {
            c.fillStyle = css("--quiet");
            c.textAlign = "center";
            c.fillText(say("barsWait"), box.x + box.w / 2, box.y + box.h / 2, box.w);
            return null;
        }
        const places = longest.map(s => `${s.stack} ${s.layer} ${s.kind}`);
        const wide = box.w / places.length, bar = Math.max(1, Math.min(14, wide * 0.4));
        const letters = ["a", "c", "f", "f"];
        let stack = -1;
        longest.forEach((s, i) => {
            const x = box.x + wide * (i + 0.5);
            c.fillStyle = css("--quiet");
            c.textAlign = "center"; c.textBaseline = "top";
            if (wide >= 9) c.fillText(letters[s.kind], x, box.y + box.h + 3);
            if (s.stack !== stack) {
                stack = s.stack;
                c.textAlign = "left";
                c.fillText(say(stack ? "decoder" : "encoder"), box.x + wide * i + 4, box.y + box.h + 17);
                if (i) {
                    c.strokeStyle = css("--quiet");
                    c.beginPath(); c.moveTo(box.x + wide * i, box.y); c.lineTo(box.x + wide * i, box.y + box.h + 26); c.stroke();
                }
            }
        });
        rows.forEach((side, k) => {
            const color = sides()[k];
            for (const s of side) {
                const i = places.indexOf(`${s.stack} ${s.layer} ${s.kind}`);
                if (i < 0) continue;
                const x = box.x + wide * (i + 0.5) + (k ? 0.5 : -bar - 0.5), y = Y(s.value || 10 ** low);
                c.fillStyle = color;
                c.globalAlpha = k ? 0.85 : 1;
                if (Number.isFinite(s.value)) c.fillRect(x, y, bar, Math.max(1, box.y + box.h - y));
                c.globalAlpha = 1;
                const first = both[k].firstSeen && both[k].firstSeen[side.indexOf(s)];
                if (first && pick(first) > 0) {
                    c.fillStyle = css("--text");
                    c.fillRect(x, Math.round(Y(pick(first))) - 1, bar, 1.5);
                }
            }
        });
        return { box, wide, longest, rows, places };
    }

    // A map of weights with its tokens.
    function attention(canvas, map, side) {
        const got = context(canvas);
        if (!got) return null;
        const { c, w, h } = got, color = sides()[side];
        if (!map) {
            c.fillStyle = css("--quiet");
            c.textAlign = "center"; c.textBaseline = "middle";
            c.fillText(say("none"), w / 2, h / 2);
            return null;
        }
        const { queries, keys, weights } = map;
        const widest = words => Math.min(64, Math.max(...words.map(t => c.measureText(t).width)));
        const leftRoom = widest(queries) + 8, upright = widest(keys) > 12;
        const topRoom = upright ? widest(keys) + 8 : 18;
        const cell = Math.min((w - leftRoom - 2) / keys.length, (h - topRoom - 2) / queries.length, 34);
        const x0 = leftRoom + (w - leftRoom - cell * keys.length) / 2, y0 = topRoom;
        c.fillStyle = css("--quiet");
        queries.forEach((t, i) => {
            c.textAlign = "right"; c.textBaseline = "middle";
            if (cell >= 9) c.fillText(t, x0 - 5, y0 + cell * (i + 0.5), 64);
        });
        keys.forEach((t, i) => {
            c.save();
            c.translate(x0 + cell * (i + 0.5), y0 - 5);
            if (upright) c.rotate(-Math.PI / 2);
            c.textAlign = upright ? "left" : "center"; c.textBaseline = upright ? "middle" : "bottom";
            if (cell >= 9) c.fillText(t, 0, 0, 64);
            c.restore();
        });
        for (let i = 0; i < queries.length; i++)
            for (let j = 0; j < keys.length; j++) {
                c.fillStyle = css("--cell");
                c.fillRect(x0 + cell * j, y0 + cell * i, cell - 1, cell - 1);
                c.globalAlpha = Math.sqrt(weights[i * keys.length + j]);
                c.fillStyle = color;
                c.fillRect(x0 + cell * j, y0 + cell * i, cell - 1, cell - 1);
                c.globalAlpha = 1;
            }
        return { x0, y0, cell, map };
    }

    // The items of drawing.h as SVG: boxes on lines. Columns are narrower than there, because the norm's
    // name and the source of a cross-attention are written beside the picture.
    function block(items) {
        const CELL = 7.4, ROW = 27, escape = t => t.replace(/[&<>"]/g, x => `&#${x.charCodeAt(0)};`);
        const looks = ["word", "line", "sum", "plain", "scale", "in", "branch", "after", "inner", "final"];
        const from = [0, 3, 22, 52, 76, 100], to = [0, 2, 13, 31, 45, 69];
        const X = x => {
            const i = Math.max(0, from.findIndex(f => f > x) - 1);
            return CELL * (to[i] + (x - from[i]) * (to[i + 1] - to[i]) / (from[i + 1] - from[i]));
        };
        const Y = y => (y + 0.5) * ROW;
        const brief = t => t.replace(/^N_(in|branch|sum|inner|final)\b.*/, "Norm").replace(/^cross-attention: .*/, "cross-attention");
        let low = 4, high = X(52) + 8.5 * CELL, bottom = 0, lines = "", boxes = "";      // of most blocks
        for (const i of items) {
            const text = brief(i.text), x = X(i.x), y = Y(i.y);
            const half = i.look === 1 ? 4 : i.look === 2 ? 10 : (text.length + 2) * CELL / 2;
            low = Math.min(low, i.left ? x : x - half);
            high = Math.max(high, i.left ? x + 2 * half : x + half, X(i.x2));
            bottom = Math.max(bottom, Y(i.y2) + ROW / 2, y + ROW / 2);
            const label = `<text${i.look ? "" : ` class="word${i.left ? " left" : ""}"`} x="${x}" y="${y + 4.5}">${escape(text)}</text>`;
            if (i.look === 1) lines += `<path d="M${x} ${y}L${X(i.x2)} ${Y(i.y2)}"/>`;
            else if (i.look === 2) boxes += `<circle class="sum" cx="${x}" cy="${y}" r="9"/>${label}`;
            else if (i.look === 0 && i.left) boxes += label;
            else if (i.look === 0) boxes += `<rect class="word" x="${x - half + CELL}" y="${y - 10}" width="${2 * half - 2 * CELL}" height="20"/>${label}`;
            else boxes += `<rect class="${looks[i.look]}" x="${x - half}" y="${y - 10.5}" width="${2 * half}" height="21" rx="4"/>${label}`;
        }
        if (!items.length) return "";
        const width = high - low + 12;
        return `<svg viewBox="${low - 6} 0 ${width} ${bottom}" style="max-width:${Math.round(width)}px">` +
            `<g class="lines">${lines}</g>${boxes}</svg>`;
    }
    return { restyle, loss, rate, bars, attention, block, short };
})();
