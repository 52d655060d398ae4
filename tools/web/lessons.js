// Guided tours: the lessons of LESSONS.md. A step sets both sides, asks for a prediction, trains, and
// explains. `judge` finds the answer that the two runs give, from { loss, guessing, seen, firstSeen } of
// each side; `right` is the answer that it gives for at least 18 of 20 seeds, which tests/web/lessons.js
// checks; `numbers` fills in {x} in `after`; `see` is the chart to look at. Texts are in English and German.
"use strict";
const DECODER = 1, FFN = 2;
const rowsOf = (seen, stack) => seen.filter(s => s.stack === stack);
const feeds = (seen, stack) => rowsOf(seen, stack).filter(s => s.kind === FFN);
const lastOf = list => list[list.length - 1];
// The value of the last feed-forward of a stack over the value of the first.
function lastOverFirst(seen, stack, pick) {
    const list = feeds(seen, stack);
    return pick(lastOf(list)) / pick(list[0]);
}
const learned = side => side.loss < side.guessing / 2;
const whoLearns = (l, r) => learned(l) && learned(r) ? 0 : learned(r) ? 1 : learned(l) ? -1 : 2;
const briefly = x => x >= 100 ? String(Math.round(x)) : String(+x.toPrecision(2));
const losses = (l, r) => ({ left: briefly(l.loss), right: briefly(r.loss), guessing: briefly(l.guessing) });
const streams = (l, r) => ({ left: briefly(lastOf(l.seen).stream), right: briefly(lastOf(r.seen).stream),
    before: briefly(lastOf(l.firstSeen).stream), ...{ leftLoss: briefly(l.loss), rightLoss: briefly(r.loss) } });

const LESSONS = [
    { title: ["1. Break Post-LN", "1. Post-LN kaputtmachen"], steps: [
        { set: "", to: 150, see: "loss", right: 1, judge: whoLearns, numbers: losses,
          ask: ["Both models learn to write strings backwards. The learning rate is high (0.008) from the first update on. On the left, the norm comes after each addition (Post-LN); on the right, it is inside the branch (Pre-LN). Which model learns?",
              "Beide Modelle lernen, Zeichenketten rückwärts zu schreiben. Die Lernrate ist vom ersten Schritt an hoch (0,008). Links kommt die Norm nach jeder Addition (Post-LN), rechts sitzt sie im Zweig (Pre-LN). Welches Modell lernt?"],
          answers: [["Both", "Beide"], ["Only the right one", "Nur das rechte"], ["Neither", "Keines"]],
          after: ["Post-LN stays at {left}, which is the loss of guessing ({guessing}); Pre-LN is at {right}. Look at the chart “Gradient of the weights”. The small marks show the first update, where Post-LN's gradient grows towards the output. Now almost none of it reaches the lower layers of the decoder.",
              "Post-LN bleibt bei {left}, dem Verlust beim Raten ({guessing}); Pre-LN steht bei {right}. Sieh dir das Diagramm „Gradient der Gewichte“ an. Die Striche zeigen den ersten Schritt: Da wächst der Gradient von Post-LN zum Ausgang hin. Inzwischen kommt in den unteren Schichten des Decoders fast nichts mehr an."] },
        { set: "recipe=post&warmup=0~200", to: 500, see: "loss", right: 1, numbers: losses,
          judge: (l, r) => !learned(r) ? 0 : r.loss < 0.12 ? 1 : 2,
          ask: ["Now both sides are Post-LN. On the right, the learning rate rises slowly during the first 200 updates; this is called a warm-up. What will the right model do?",
              "Jetzt sind beide Seiten Post-LN. Rechts steigt die Lernrate in den ersten 200 Schritten langsam an; das heißt Warm-up. Was macht das rechte Modell?"],
          answers: [["It fails, too", "Es scheitert auch"], ["It learns and ends as low as Pre-LN (0.1)", "Es lernt und endet so tief wie Pre-LN (0,1)"], ["It learns, but ends higher than Pre-LN", "Es lernt, endet aber höher als Pre-LN"]],
          after: ["The right model ends at {right}, the left one at {left}. Pre-LN needs no warm-up to get there. So neither the rate nor the place of the norm is the whole reason: Post-LN fails because it cannot take so high a rate in the first updates.",
              "Rechts endet der Verlust bei {right}, links bei {left}. Pre-LN kommt ohne Warm-up so weit. Weder die Lernrate noch der Platz der Norm ist also der ganze Grund: Post-LN scheitert, weil es in den ersten Schritten keine so hohe Lernrate verträgt."] },
    ] },
    { title: ["2. Repair it", "2. Reparieren"], steps: [
        { set: "recipe=post~admin&init=xavier&layers=6&lr=0.004&steps=600", to: 300, see: "share", right: 0, numbers: losses,
          judge: (l, r) => learned(r) && !learned(l) ? 0 : 1,
          ask: ["Six layers in each stack, no warm-up. Admin (right) is Post-LN with one change: before training it looks at some data once, and then multiplies the stream x by a number, so that each branch is a small part of the sum. Can this replace the warm-up?",
              "Sechs Schichten je Stapel, kein Warm-up. Admin (rechts) ist Post-LN mit einer Änderung: Vor dem Training sieht es sich einmal Daten an und multipliziert dann den Strom x mit einer Zahl, sodass jeder Zweig nur ein kleiner Teil der Summe ist. Kann das den Warm-up ersetzen?"],
          answers: [["Yes, Admin learns and Post-LN does not", "Ja, Admin lernt und Post-LN nicht"], ["No", "Nein"]],
          after: ["After 300 updates Admin is at {right} and Post-LN at {left}. The chart shows how large each branch is compared with the sum that it enters. At the start (marks) the share falls with depth in Admin and is the same everywhere in Post-LN. A small share means that one update changes the output only a little.",
              "Nach 300 Schritten steht Admin bei {right} und Post-LN bei {left}. Das Diagramm zeigt, wie groß jeder Zweig im Vergleich zu der Summe ist, in die er eingeht. Am Anfang (Striche) sinkt dieser Anteil bei Admin mit der Tiefe; bei Post-LN ist er überall gleich. Ein kleiner Anteil heißt: Ein Schritt ändert die Ausgabe nur wenig."] },
        { set: "recipe=post&layers=6&lr=0.004&steps=600&optimizer=adam~radam", to: 600, see: "moved", right: 0, numbers: losses,
          judge: (l, r) => r.loss < l.loss - 0.3 ? 0 : l.loss < r.loss - 0.3 ? 2 : 1,
          ask: ["Both sides are Post-LN without a warm-up. The right one uses RAdam, an optimizer that takes small steps at the beginning. Does this help?",
              "Beide Seiten sind Post-LN ohne Warm-up. Rechts arbeitet RAdam, ein Optimierer, der am Anfang kleine Schritte macht. Hilft das?"],
          answers: [["Yes, the right one ends lower", "Ja, rechts endet tiefer"], ["It makes no difference", "Es macht keinen Unterschied"], ["No, the right one ends higher", "Nein, rechts endet höher"]],
          after: ["RAdam ends at {right}, Adam at {left}. RAdam learns, but more slowly than Admin did. Warm-up, Admin and RAdam have one thing in common: the first updates change the model's output less.",
              "RAdam endet bei {right}, Adam bei {left}. RAdam lernt, aber langsamer als Admin. Warm-up, Admin und RAdam haben eines gemeinsam: Die ersten Schritte ändern die Ausgabe des Modells weniger."] },
    ] },
    { title: ["3. Where the gradient vanishes", "3. Wo der Gradient verschwindet"], steps: [
        { set: "recipe=post~b2t&init=xavier&layers=18&lr=0.002&steps=400", to: 1, see: "gradient", right: 0,
          judge(l) {
              const decoder = lastOverFirst(l.seen, DECODER, s => s.gradient) > 10, encoder = lastOverFirst(l.seen, 0, s => s.gradient) > 10;
              return decoder && encoder ? 2 : decoder ? 0 : encoder ? 1 : -1;
          },
          numbers: (l, r) => ({ left: briefly(lastOverFirst(l.seen, DECODER, s => s.gradient)), encoder: briefly(lastOverFirst(l.seen, 0, s => s.gradient)),
              right: briefly(lastOverFirst(r.seen, DECODER, s => s.gradient)) }),
          ask: ["18 layers in each stack, and only one update. The gradient travels from the output down to the first layer. Where does it become much smaller in Post-LN (left)?",
              "18 Schichten je Stapel und nur ein Schritt. Der Gradient wandert vom Ausgang hinunter zur ersten Schicht. Wo wird er bei Post-LN (links) viel kleiner?"],
          answers: [["In the decoder", "Im Decoder"], ["In the encoder", "Im Encoder"], ["In both", "In beiden"]],
          after: ["In Post-LN's decoder the last feed-forward gets {left} times the gradient of the first one; in the encoder only {encoder} times. The cross-attention reads the encoder, so its branch passes no gradient back to the decoder's stream, but the norm after it still divides the gradient. B2T (right) adds the layer's input once more before the last norm: there the factor is {right}.",
              "Im Decoder von Post-LN bekommt das letzte Feed-Forward {left}-mal so viel Gradient wie das erste, im Encoder nur {encoder}-mal so viel. Die Cross-Attention liest den Encoder; ihr Zweig gibt dem Strom des Decoders also keinen Gradienten zurück, aber die Norm danach teilt ihn trotzdem. B2T (rechts) addiert vor der letzten Norm noch einmal den Eingang der Schicht: Dort ist der Faktor {right}."] },
    ] },
    { title: ["4. Why Pre-LN's upper layers idle", "4. Warum Pre-LNs obere Schichten leerlaufen"], steps: [
        { set: "recipe=pre~post&layers=12&lr=0.002&steps=400", to: 1, see: "stream", right: 2,
          judge(l) {
              const grows = lastOverFirst(l.seen, DECODER, s => s.stream);
              return grows > 1.5 ? 2 : grows < 0.67 ? 0 : 1;
          },
          numbers(l, r) {
              const list = rowsOf(l.seen, DECODER), sizes = list.map(s => s.branch), top = lastOf(list);
              return { first: briefly(list[0].stream), last: briefly(top.stream), least: briefly(Math.min(...sizes)), most: briefly(Math.max(...sizes)),
                  share: briefly(100 * top.branch / top.stream), right: briefly(lastOf(r.seen).stream) };
          },
          ask: ["12 layers in each stack, and one update. In Pre-LN (left) each layer adds its branches to the residual stream, and nothing normalizes the stream. How does its size change from the first layer to the last?",
              "12 Schichten je Stapel, ein Schritt. Bei Pre-LN (links) addiert jede Schicht ihre Zweige zum Residualstrom, und nichts normiert den Strom. Wie ändert sich seine Größe von der ersten bis zur letzten Schicht?"],
          answers: [["It falls", "Sie fällt"], ["It stays the same", "Sie bleibt gleich"], ["It grows", "Sie wächst"]],
          after: ["In the decoder it grows from {first} to {last}. The branches keep their size, between {least} and {most}, so the last branch is only {share} % of its stream: the upper layers change little. Post-LN (right) normalizes every sum, so its stream has size {right} everywhere.",
              "Im Decoder wächst sie von {first} auf {last}. Die Zweige bleiben gleich groß, zwischen {least} und {most}; der letzte Zweig ist also nur {share} % seines Stroms: Die oberen Schichten ändern wenig. Post-LN (rechts) normiert jede Summe, sein Strom hat überall die Größe {right}."] },
    ] },
    { title: ["5. The depth where Post-LN breaks", "5. Wie tief Post-LN geht"], steps: [
        { set: "recipe=post&layers=2~10&lr=0.002&warmup=100&steps=400", to: 400, see: "loss", right: 1, numbers: losses,
          judge: (l, r) => r.loss > 1.5 * l.loss ? 1 : l.loss > 1.5 * r.loss ? 0 : 2,
          ask: ["Post-LN with a warm-up of 100 updates: 2 layers in each stack on the left, 10 on the right. (This takes about a minute.) Which model ends with the lower loss?",
              "Post-LN mit 100 Schritten Warm-up: links 2 Schichten je Stapel, rechts 10. (Das dauert etwa eine Minute.) Welches Modell hat am Ende den kleineren Verlust?"],
          answers: [["The deep one", "Das tiefe"], ["The shallow one", "Das flache"], ["Both the same", "Beide gleich"]],
          after: ["2 layers end at {left}, 10 layers at {right}; Pre-LN with 10 layers reaches 0.12. The deep Post-LN is slow rather than broken: with more updates and a longer warm-up its loss goes on falling.",
              "2 Schichten enden bei {left}, 10 Schichten bei {right}; Pre-LN mit 10 Schichten kommt auf 0,12. Das tiefe Post-LN ist eher langsam als kaputt: Mit mehr Schritten und längerem Warm-up fällt sein Verlust weiter."] },
    ] },
    { title: ["6. What a warm-up is for", "6. Wozu ein Warm-up gut ist"], steps: [
        { set: "recipe=pre&lr=0.02&warmup=0~100", to: 500, see: "loss", right: 1, numbers: losses, judge: whoLearns,
          ask: ["Pre-LN learned at a rate of 0.008 without a warm-up. Now the rate is 0.02 on both sides, and the right side has a warm-up of 100 updates. Does Pre-LN need it now?",
              "Pre-LN hat bei Lernrate 0,008 ohne Warm-up gelernt. Jetzt ist sie auf beiden Seiten 0,02, und rechts gibt es 100 Schritte Warm-up. Braucht Pre-LN ihn jetzt?"],
          answers: [["No, both learn", "Nein, beide lernen"], ["Yes, only the right one learns", "Ja, nur das rechte lernt"], ["It does not help, neither learns", "Er hilft nicht, keines lernt"]],
          after: ["The left model ends at {left}, the right one at {right}. So a warm-up is not only for Post-LN. At the start every model tolerates a smaller rate than later, when the loss curves less around its weights (Gilmer et al. 2021). Post-LN tolerates less than Pre-LN.",
              "Links endet der Verlust bei {left}, rechts bei {right}. Ein Warm-up ist also nicht nur für Post-LN da. Am Anfang verträgt jedes Modell nur eine kleinere Lernrate als später, wenn der Verlust um seine Gewichte herum weniger gekrümmt ist (Gilmer et al. 2021). Post-LN verträgt weniger als Pre-LN."] },
        { set: "recipe=post~pre&layers=12&lr=0.002&steps=400", to: 1, see: "moved", right: 1,
          judge(l) {
              const gradient = lastOverFirst(l.seen, DECODER, s => s.gradient), moved = lastOverFirst(l.seen, DECODER, s => s.moved);
              return moved < 2 && moved > 0.5 ? 1 : moved > gradient / 2 ? 0 : 2;
          },
          numbers: l => ({ gradient: briefly(lastOverFirst(l.seen, DECODER, s => s.gradient)), moved: briefly(lastOverFirst(l.seen, DECODER, s => s.moved)) }),
          ask: ["12 layers in each stack, and one update of Adam. In Post-LN's decoder the last feed-forward has a much larger gradient than the first one, dozens of times as large. How large is its first update?",
              "12 Schichten je Stapel, ein Schritt von Adam. Im Decoder von Post-LN hat das letzte Feed-Forward einen viel größeren Gradienten als das erste, Dutzende Male so groß. Wie groß ist sein erster Schritt?"],
          answers: [["As many times larger as the gradient", "So viel größer wie der Gradient"], ["About the same as the first one's", "Etwa so groß wie beim ersten"], ["Larger, but less than the gradient", "Größer, aber weniger als der Gradient"]],
          after: ["The gradient is {gradient} times as large, the update {moved} times. Adam divides the gradient by its own size, and at the first update it knows only this one gradient. So the first updates are as large where the gradient is weak as where it is strong. A warm-up makes all of them small.",
              "Der Gradient ist {gradient}-mal so groß, der Schritt {moved}-mal. Adam teilt den Gradienten durch seine eigene Größe, und beim ersten Schritt kennt es nur diesen einen. Die ersten Schritte sind also dort, wo der Gradient schwach ist, so groß wie dort, wo er stark ist. Ein Warm-up macht alle klein."] },
    ] },
    { title: ["7. The curse of depth", "7. Der Fluch der Tiefe"], steps: [
        { set: "recipe=pre~peri&layers=12&lr=0.016&warmup=50&steps=200", to: 200, see: "stream", right: 2, numbers: streams,
          judge(l) {
              const grows = lastOf(l.seen).stream / lastOf(l.firstSeen).stream;
              return grows > 1.5 ? 2 : grows < 0.8 ? 0 : 1;
          },
          ask: ["12 layers in each stack and a high rate. (This takes a minute or two.) After the decoder's last layer the stream of Pre-LN (left) has a size of about 5 before training. How large is it after 200 updates?",
              "12 Schichten je Stapel und eine hohe Lernrate. (Das dauert ein bis zwei Minuten.) Nach der letzten Schicht des Decoders hat der Strom von Pre-LN (links) vor dem Training etwa die Größe 5. Wie groß ist er nach 200 Schritten?"],
          answers: [["Smaller", "Kleiner"], ["About the same", "Etwa gleich groß"], ["Much larger", "Viel größer"]],
          after: ["It grows from {before} to {left}, because nothing limits what a branch adds. In so large a stream a branch of size 1 changes hardly anything, so deep layers of Pre-LN come to do little (Sun et al. 2025). Peri-LN (right) normalizes what each branch adds, and its stream has size {right} (Kim et al. 2025).",
              "Er wächst von {before} auf {left}, denn nichts begrenzt, was ein Zweig addiert. In einem so großen Strom ändert ein Zweig der Größe 1 kaum etwas, deshalb tun tiefe Schichten von Pre-LN am Ende wenig (Sun et al. 2025). Peri-LN (rechts) normiert, was jeder Zweig addiert; sein Strom hat die Größe {right} (Kim et al. 2025)."] },
        { set: "recipe=pre~lns&layers=12&lr=0.016&warmup=50&steps=200", to: 200, see: "stream", right: 0, numbers: streams,
          judge: (l, r) => lastOf(r.seen).stream < 0.85 * lastOf(l.seen).stream ? 0 : 1,
          ask: ["LayerNorm Scaling (right) divides the norm of layer 2 by √2, of layer 3 by √3, and so on. Does its stream stay smaller than Pre-LN's?",
              "LayerNorm Scaling (rechts) teilt die Norm der Schicht 2 durch √2, die der Schicht 3 durch √3 und so weiter. Bleibt sein Strom kleiner als der von Pre-LN?"],
          answers: [["Yes, it stays smaller", "Ja, er bleibt kleiner"], ["No, training undoes it", "Nein, das Training macht es rückgängig"]],
          after: ["It has size {right}, Pre-LN's has {left}; the losses are {rightLoss} and {leftLoss}. A branch that reads less also adds less. Its weights could grow to make up for it, but they do not within these 200 updates.",
              "Er hat die Größe {right}, der von Pre-LN {left}; die Verluste sind {rightLoss} und {leftLoss}. Ein Zweig, der weniger liest, addiert auch weniger. Seine Gewichte könnten wachsen und das ausgleichen, tun es aber in diesen 200 Schritten nicht."] },
    ] },
    { title: ["8. One rate for every width", "8. Eine Lernrate für jede Breite"], steps: [
        { set: "recipe=pre&layers=1&width=16~64&lr=0.016&warmup=20&steps=200", to: 200, see: "loss", right: 0, numbers: losses,
          judge: (l, r) => l.loss < r.loss ? 0 : 1,
          ask: ["A rate of 0.016 is right for a model of width 16 (left). The right model has width 64 and the same rate. It has fifteen times as many weights. Which model ends with the lower loss?",
              "Lernrate 0,016 passt zu einem Modell der Breite 16 (links). Das rechte Modell hat Breite 64 und dieselbe Lernrate. Es hat fünfzehnmal so viele Gewichte. Welches Modell hat am Ende den kleineren Verlust?"],
          answers: [["The narrow one", "Das schmale"], ["The wide one", "Das breite"]],
          after: ["The narrow one ends at {left}, the wide one at {right}. Each output of a matrix is a sum over the width, and one update moves all terms of the sum in the same direction. At four times the width the same rate moves the outputs four times as far, which is too far.",
              "Das schmale endet bei {left}, das breite bei {right}. Jeder Ausgang einer Matrix ist eine Summe über die Breite, und ein Schritt bewegt alle Summanden in dieselbe Richtung. Bei vierfacher Breite bewegt dieselbe Lernrate die Ausgänge viermal so weit, und das ist zu weit."] },
        { set: "recipe=pre&layers=1&width=64&base=0~16&lr=0.016&warmup=20&steps=200", to: 200, see: "loss", right: 1, numbers: losses,
          judge: (l, r) => r.loss < l.loss / 2 ? 1 : l.loss < r.loss / 2 ? 2 : 0,
          ask: ["Both models now have width 64 and the rate 0.016. The right one follows muP with the base width 16: its matrices are four times as wide as the base, so they get a quarter of the rate, and the output is divided by four. What does muP change?",
              "Beide Modelle haben jetzt Breite 64 und Lernrate 0,016. Das rechte folgt muP mit Basisbreite 16: Seine Matrizen sind viermal so breit wie die Basis, also bekommen sie ein Viertel der Lernrate, und die Ausgabe wird durch vier geteilt. Was ändert muP?"],
          answers: [["Little", "Wenig"], ["The right one ends far lower", "Rechts endet viel tiefer"], ["The right one ends far higher", "Rechts endet viel höher"]],
          after: ["Without muP the wide model ends at {left}, with muP at {right}. So a rate that was found with a small model, which is cheap, also serves a wide one (Yang et al. 2022). Embeddings and gains keep the whole rate, because nothing sums them over the width.",
              "Ohne muP endet das breite Modell bei {left}, mit muP bei {right}. Eine Lernrate, die man billig an einem kleinen Modell gefunden hat, taugt also auch für ein breites (Yang et al. 2022). Embeddings und Gains behalten die ganze Lernrate, denn über sie wird nicht summiert."] },
    ] },
];

let tour = null;                        // { lesson, step, guess, turn: of its run, both: what came out }
function showTours() {
    $("tours").replaceChildren(element("h2", { id: "h-tours", textContent: say("tours") }), ...LESSONS.map((l, i) =>
        element("button", { type: "button", textContent: l.title[language], onclick: () => begunTour(i, 0) })));
    showTour();
}
function begunTour(lesson, step) {
    tour = { lesson, step, guess: -1 };
    setPlaying(false);
    settings(LESSONS[lesson].steps[step].set);
    restart();
    tour.turn = turn;
    showTour();
    $("tour").scrollIntoView({ block: "nearest" });
    $("tour").querySelector(".answers button").focus({ preventScroll: true });
}
async function answerTour(guess) {
    const mine = tour, { to, set } = LESSONS[tour.lesson].steps[tour.step];
    if (tour.turn !== turn) {               // other settings were tried meanwhile
        settings(set);
        restart();
        tour.turn = turn;
    }
    tour.guess = guess;
    showTour();
    while (!runs.every(r => r.ready || r.error)) await new Promise(done => setTimeout(done, 20));
    const run = turn;
    while (turn === run && tour === mine && runs.every(r => !r.error) && Math.min(...runs.map(r => r.step)) < to) {
        await advance(run, Math.min(pace, to - Math.min(...runs.map(r => r.step))));
        await new Promise(done => setTimeout(done));
    }
    if (tour !== mine) return;
    if (turn !== run || runs.some(r => r.error)) return abandoned();
    tour.both = runs.map(found);
    draw(true);
    look();
    showTour();
}
// The settings were changed during a lesson, or a side failed: the question waits again.
function abandoned() {
    tour.guess = -1;
    showTour();
}
// Collects the results of the two runs of a step.
const found = run => ({ loss: last(run.held), guessing: run.guessing, seen: run.seen, firstSeen: run.firstSeen });
function verdict(step, guess, both) {
    const happened = step.judge(...both), answer = i => i < 0 ? say("noAnswer") : step.answers[i][language];
    const parts = [[say("predicted"), answer(guess)], [say("happened"), `${answer(happened)}. ${say(guess === happened ? "asPredicted" : "notAsPredicted")}`]];
    let why = fill(step.after[language], step.numbers(...both));
    if (language) why = why.replace(/(\d)\.(\d)/g, "$1,$2");
    if (happened !== step.right) why = say("mostSeeds", { answer: answer(step.right) }) + " " + why;
    return element("div", { className: "verdict" }, ...[...parts, [say("why"), why]].map(([name, text]) =>
        element("p", {}, element("b", { textContent: name }), " ", text)));
}
function showTour() {
    for (const e of document.querySelectorAll(".seen, .first")) e.classList.remove("seen", "first");
    $("tour").hidden = !tour;
    document.querySelector("main").classList.toggle("touring", !!tour);
    $("tours").querySelectorAll("button").forEach((e, i) => e.ariaCurrent = tour && tour.lesson === i ? "step" : null);
    if (!tour) return;
    const lesson = LESSONS[tour.lesson], step = lesson.steps[tour.step], inside = [];
    const shown = $(step.see).closest(".card");         // right after the lesson, so that both are seen
    shown.classList.add("first");
    shown.parentElement.classList.toggle("first", shown.parentElement.classList.contains("pair"));
    const button = (text, onclick, more = {}) => element("button", { type: "button", textContent: text, onclick, ...more });
    const close = button("×", () => { tour = null; showTour(); });
    close.setAttribute("aria-label", say("close"));
    inside.push(element("h2", {}, lesson.title[language], close), element("p", { textContent: step.ask[language] }));
    if (tour.guess < 0) {
        inside.push(element("div", { className: "answers" }, ...step.answers.map((a, i) => button(a[language], () => answerTour(i)))));
    } else if (!tour.both) {
        inside.push(element("p", { textContent: say("trains", { answer: step.answers[tour.guess][language] }) }));
    } else {
        const next = tour.step + 1 < lesson.steps.length;
        inside.push(verdict(step, tour.guess, tour.both));
        inside.push(element("div", { className: "answers" }, next ? button(say("next"), () => begunTour(tour.lesson, tour.step + 1)) :
            button(say("finish"), () => { tour = null; showTour(); })));
        shown.classList.add("seen");
    }
    $("tour").setAttribute("aria-live", "polite");
    $("tour").replaceChildren(...inside);
}
