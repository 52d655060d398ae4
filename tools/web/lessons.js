// Guided tours: the lessons of LESSONS.md. A step sets both sides, asks for a prediction, trains,
// and explains; `right` is the answer's number, `see` the chart to look at. Each text in English and
// German. The numbers are those of seed 1, which every machine with a fused multiply-add gets.
"use strict";
const LESSONS = [
    { title: ["1. Break Post-LN", "1. Post-LN kaputtmachen"], steps: [
        { set: "", to: 150, see: "loss", right: 1,
          ask: ["Both sides learn to write strings backwards, at a rate of 0.008 from the first update on. Left the norm stands behind each sum (Post-LN), right inside the branch (Pre-LN). Which one learns?",
              "Beide lernen, Wörter rückwärts zu schreiben, von Anfang an mit Lernrate 0,008. Links steht die Norm hinter jeder Summe (Post-LN), rechts im Zweig (Pre-LN). Wer lernt?"],
          answers: [["Both", "Beide"], ["Only the right one", "Nur rechts"], ["Neither", "Keiner"]],
          after: ["Post-LN stays at the loss of guessing. Look at the gradient of the weights: at the first update (ticks) it grows towards the output; now the decoder's lower layers get next to nothing.",
              "Post-LN bleibt beim Verlust des Ratens. Der Gradient der Gewichte: Beim ersten Schritt (Striche) wächst er zum Ausgang hin; inzwischen kommt unten im Decoder fast nichts mehr an."] },
        { set: "recipe=post&warmup=0~200", to: 500, see: "loss", right: 1,
          ask: ["Twice Post-LN; the right side's rate rises within 200 updates (warm-up). What will it do?",
              "Zweimal Post-LN; rechts steigt die Lernrate in 200 Schritten an (Warm-up). Was geschieht rechts?"],
          answers: [["Fail as well", "Scheitert auch"], ["Learn, in the end as well as Pre-LN", "Lernt am Ende so gut wie Pre-LN"], ["Learn, but stay behind", "Lernt, bleibt aber zurück"]],
          after: ["It ends at 0.096, as Pre-LN does without a warm-up. So neither the rate nor the placement alone is to blame: this placement does not bear this rate at the start.",
              "Es endet bei 0,096, wie Pre-LN ohne Warm-up. Weder die Lernrate noch die Stelle der Norm ist also allein schuld: Diese Stelle verträgt diese Rate am Anfang nicht."] },
    ] },
    { title: ["2. Repair it", "2. Reparieren"], steps: [
        { set: "recipe=post~admin&layers=6&lr=0.004&steps=600", to: 300, see: "branch", right: 0,
          ask: ["6 + 6 layers without warm-up. Admin, right, is Post-LN whose skips are scaled once, by what a first look at data shows. Does that replace a warm-up?",
              "6 + 6 Schichten ohne Warm-up. Admin, rechts, ist Post-LN, dessen Residualpfade einmal nach einem Blick auf Daten skaliert werden. Ersetzt das ein Warm-up?"],
          answers: [["Yes", "Ja"], ["No", "Nein"]],
          after: ["0.10 against 1.8 after 300 updates. No branch of Admin weighs much at first, so that an update moves the output less.",
              "0,10 gegen 1,8 nach 300 Schritten. Bei Admin zählt anfangs kein Zweig viel, und ein Schritt bewegt den Ausgang weniger."] },
        { set: "recipe=post&layers=6&lr=0.004&steps=600&optimizer=adam~radam", to: 600, see: "moved", right: 1,
          ask: ["Twice Post-LN; the right side's optimizer is RAdam, which begins with small steps by itself. Does it repair as well as Admin?",
              "Zweimal Post-LN; rechts RAdam, das von selbst mit kleinen Schritten beginnt. Repariert es so gut wie Admin?"],
          answers: [["Yes", "Ja"], ["Half-way", "Halb"], ["Not at all", "Gar nicht"]],
          after: ["It learns, 0.4 against 1.6, but more slowly: Admin had 0.10. All repairs have in common that the first updates change less of what the model says.",
              "Es lernt, 0,4 gegen 1,6, aber langsamer: Admin kam auf 0,10. Allen Reparaturen ist gemeinsam, dass die ersten Schritte weniger an den Ausgaben ändern."] },
    ] },
    { title: ["3. Where the gradient vanishes", "3. Wo der Gradient verschwindet"], steps: [
        { set: "recipe=post~b2t&layers=18&lr=0.002&steps=400", to: 1, see: "gradient", right: 0,
          ask: ["18 + 18 layers, one update. In which half of Post-LN does the gradient shrink on its way down?",
              "18 + 18 Schichten, ein Schritt. In welcher Hälfte von Post-LN schrumpft der Gradient auf dem Weg nach unten?"],
          answers: [["In the decoder", "Im Decoder"], ["In the encoder", "Im Encoder"], ["In both", "In beiden"]],
          after: ["In the decoder, by a factor of about 800 over 18 feed-forwards; in the encoder hardly. The cross-attention's branch reads the encoder and gives nothing back to the stream, while the norm behind it divides. B2T, right, adds the layer's input once more at the end: 3.5 in place of 800.",
              "Im Decoder, über 18 Feed-Forwards um etwa 800; im Encoder kaum. Der Zweig der Cross-Attention liest den Encoder und gibt dem Strom nichts zurück, die Norm dahinter teilt aber. B2T, rechts, addiert am Ende noch einmal den Eingang der Schicht: 3,5 statt 800."] },
    ] },
    { title: ["4. Why Pre-LN's upper layers idle", "4. Warum Pre-LNs obere Schichten leerlaufen"], steps: [
        { set: "recipe=pre~post&layers=12&lr=0.002&steps=400", to: 1, see: "stream", right: 2,
          ask: ["12 + 12 layers, one update. How does the size of the residual stream change with depth in Pre-LN?",
              "12 + 12 Schichten, ein Schritt. Wie ändert sich der Residualstrom bei Pre-LN mit der Tiefe?"],
          answers: [["It falls", "Er fällt"], ["It stays 1", "Er bleibt 1"], ["It grows", "Er wächst"]],
          after: ["It grows from 1.9 to 5.4 in the decoder, while the branches stay between 0.5 and 0.8: the share of the last layer is a tenth. Post-LN norms each sum, so its stream is 1 everywhere.",
              "Im Decoder wächst er von 1,9 auf 5,4, die Zweige bleiben zwischen 0,5 und 0,8: Der Anteil der letzten Schicht ist ein Zehntel. Post-LN normt jede Summe, sein Strom ist überall 1."] },
    ] },
    { title: ["5. The depth where Post-LN breaks", "5. Wie tief Post-LN geht"], steps: [
        { set: "recipe=post&layers=2~10&lr=0.002&warmup=100&steps=400", to: 400, see: "loss", right: 1,
          ask: ["Post-LN with a warm-up of 100 updates, 2 + 2 layers left and 10 + 10 right (this takes a minute). Who ends lower?",
              "Post-LN mit 100 Schritten Warm-up, links 2 + 2 Schichten, rechts 10 + 10 (das dauert eine Minute). Wer endet tiefer?"],
          answers: [["The deep one", "Das tiefe"], ["The shallow one", "Das flache"], ["Both the same", "Beide gleich"]],
          after: ["0.12 with 2 layers, 1.7 with 10; Pre-LN with 10 has 0.12. It is slow rather than broken: with more updates and a longer warm-up the loss goes on falling.",
              "0,12 mit 2 Schichten, 1,7 mit 10; Pre-LN mit 10 kommt auf 0,12. Eher langsam als kaputt: Mit mehr Schritten und längerem Warm-up fällt der Verlust weiter."] },
    ] },
    { title: ["6. What a warm-up is for", "6. Wozu ein Warm-up gut ist"], steps: [
        { set: "recipe=pre&lr=0.02&warmup=0~100", to: 500, see: "loss", right: 1,
          ask: ["Pre-LN bore a rate of 0.008 from the first update on. Now it is 0.02 on both sides; the right one's rises within 100 updates. Does Pre-LN need that?",
              "Pre-LN vertrug eine Lernrate von 0,008 vom ersten Schritt an. Jetzt sind es auf beiden Seiten 0,02; rechts steigt sie in 100 Schritten an. Braucht Pre-LN das?"],
          answers: [["No, both learn", "Nein, beide lernen"], ["Yes, only the right one learns", "Ja, nur rechts wird gelernt"], ["It does not help: neither learns", "Es hilft nicht: keiner lernt"]],
          after: ["1.5 against 0.096. So a warm-up is no remedy for Post-LN alone: what a model bears at the start is less than what it bears later, when the loss is less curved around it (Gilmer et al. 2021). Post-LN bears less than Pre-LN, that is all.",
              "1,5 gegen 0,096. Ein Warm-up ist also kein Mittel nur für Post-LN: Am Anfang verträgt ein Modell weniger als später, wenn der Verlust um es herum weniger gekrümmt ist (Gilmer et al. 2021). Post-LN verträgt nur noch weniger als Pre-LN."] },
        { set: "recipe=post~pre&layers=12&lr=0.002&steps=400", to: 1, see: "moved", right: 1,
          ask: ["12 + 12 layers, one update of Adam. In Post-LN's decoder the gradient of the last feed-forward is 75 times that of the first. How many times as large is its first update?",
              "12 + 12 Schichten, ein Schritt von Adam. Im Decoder von Post-LN ist der Gradient des letzten Feed-Forwards 75-mal der des ersten. Um wie viel größer ist sein erster Schritt?"],
          answers: [["75 times", "75-mal"], ["It is the same", "Er ist gleich groß"], ["The square root of it, 9 times", "Die Wurzel daraus, 9-mal"]],
          after: ["About a hundredth of the weight in every layer, on both sides: Adam divides by the size of the gradient, and knows only this one. So the first updates are as large where the gradient is faint as where it is strong, and a warm-up makes all of them small.",
              "Rund ein Hundertstel des Gewichts in jeder Schicht, auf beiden Seiten: Adam teilt durch die Größe des Gradienten, und kennt erst diesen einen. Die ersten Schritte sind also auch dort groß, wo der Gradient schwach ist; ein Warm-up macht sie alle klein."] },
    ] },
    { title: ["7. The curse of depth", "7. Der Fluch der Tiefe"], steps: [
        { set: "recipe=pre~peri&layers=12&lr=0.016&warmup=50&steps=200", to: 200, see: "stream", right: 2,
          ask: ["12 + 12 layers at a high rate (this takes a minute or two). Behind the decoder's last layer Pre-LN's stream has the size 5.4 before training. And after 200 updates?",
              "12 + 12 Schichten bei hoher Lernrate (das dauert ein bis zwei Minuten). Hinter der letzten Schicht des Decoders hat der Strom von Pre-LN vor dem Training die Größe 5,4. Und nach 200 Schritten?"],
          answers: [["Less", "Kleiner"], ["About the same", "Etwa gleich"], ["Nearly three times as much", "Fast dreimal so groß"]],
          after: ["15: nothing bounds what a branch adds, and the first ones have come to 2. Where the stream is large, a branch of size 1 hardly changes it: deep layers of Pre-LN come to do little (Sun et al. 2025). Peri-LN, right, norms what each branch gives, which stays at 1: its stream is 8 (Kim et al. 2025).",
              "15: Nichts begrenzt, was ein Zweig beiträgt, und die ersten sind auf 2 gewachsen. In einem großen Strom ändert ein Zweig der Größe 1 kaum etwas: Tiefe Schichten von Pre-LN tun am Ende wenig (Sun et al. 2025). Peri-LN, rechts, normt, was jeder Zweig gibt; das bleibt bei 1, der Strom bei 8 (Kim et al. 2025)."] },
        { set: "recipe=pre~lns&layers=12&lr=0.016&warmup=50&steps=200", to: 200, see: "stream", right: 0,
          ask: ["LayerNorm Scaling, right, divides the norm of layer l by the square root of l. Does it curb the stream?",
              "LayerNorm Scaling, rechts, teilt die Norm der Schicht l durch die Wurzel aus l. Bremst das den Strom?"],
          answers: [["Yes, by a third", "Ja, um ein Drittel"], ["No, training undoes it", "Nein, das Training macht es rückgängig"]],
          after: ["9.4 against 15, and the loss is 0.13 against 0.15. A branch gets less to read and gives less; its weights could make up for it, but do not within these updates.",
              "9,4 gegen 15, und der Verlust 0,13 gegen 0,15. Ein Zweig liest weniger und gibt weniger; seine Gewichte könnten das ausgleichen, tun es in dieser Zeit aber nicht."] },
    ] },
    { title: ["8. One rate for every width", "8. Eine Lernrate für jede Breite"], steps: [
        { set: "recipe=pre&layers=1&width=16~64&lr=0.016&warmup=20&steps=200", to: 200, see: "loss", right: 0,
          ask: ["The best rate for width 16 is 0.016. Right the same rate at width 64, with fifteen times the weights. Who ends lower?",
              "Für Breite 16 ist 0,016 die beste Lernrate. Rechts dieselbe bei Breite 64, mit fünfzehnmal so vielen Gewichten. Wer endet tiefer?"],
          answers: [["The narrow one", "Das schmale"], ["The wide one", "Das breite"]],
          after: ["0.55 against 1.7. Each output of a matrix is a sum over the width, and an update moves all of its terms the same way: at four times the width the same rate moves the outputs four times as far.",
              "0,55 gegen 1,7. Jeder Ausgang einer Matrix ist eine Summe über die Breite, und ein Schritt bewegt alle ihre Glieder in dieselbe Richtung: Bei vierfacher Breite bewegt dieselbe Rate die Ausgänge viermal so weit."] },
        { set: "recipe=pre&layers=1&width=16~64&base=16&lr=0.016&warmup=20&steps=200", to: 200, see: "loss", right: 2,
          ask: ["Now both follow muP from width 16: at four times the width, matrices get a quarter of the rate, and logits are divided by four. The rate of 0.016 stays. Who ends lower?",
              "Jetzt folgen beide muP ab Breite 16: Bei vierfacher Breite bekommen Matrizen ein Viertel der Rate, und die Logits werden durch vier geteilt. Die Rate bleibt 0,016. Wer endet tiefer?"],
          answers: [["The narrow one by far", "Das schmale, weit"], ["Both stay where they were", "Beide bleiben, wo sie waren"], ["The wide one, if not by much", "Das breite, wenn auch knapp"]],
          after: ["0.12 and 0.10; the wide one without muP had 1.7. With the seeds 2 to 4 the wide one has 0.10, the narrow one 0.61 and more. So the rate of a small model, which is cheap to find, serves a large one (Yang et al. 2022). Embeddings and gains keep the whole rate, as no sum over the width reads them. Left, at the base, muP is only another scale of embeddings and of attention's scores.",
              "0,12 und 0,10; das breite ohne muP hatte 1,7. Mit Zufall 2 bis 4 hat das breite 0,10, das schmale 0,61 und mehr. Die Rate eines kleinen Modells, die billig zu finden ist, taugt also für ein großes (Yang et al. 2022). Embeddings und Gains behalten die ganze Rate, denn über sie läuft keine Summe über die Breite. Links, an der Basis, ist muP nur eine andere Skala der Embeddings und der Attention-Werte."] },
    ] },
];

let tour = null;                        // { lesson, step, guess }
function showTours() {
    $("tours").replaceChildren(element("h2", { id: "h-tours", textContent: say("tours") }), ...LESSONS.map((l, i) =>
        element("button", { type: "button", textContent: l.title[language], onclick: () => begunTour(i, 0) })));
    showTour();
}
function begunTour(lesson, step) {
    tour = { lesson, step, guess: -1 };
    setPlaying(false);
    const { row, kind, layer, head } = state;
    readAddress(LESSONS[lesson].steps[step].set);
    Object.assign(state, { row, kind, layer, head });
    restart();
    showTour();
    $("tour").scrollIntoView({ block: "nearest" });
    $("tour").querySelector(".answers button").focus({ preventScroll: true });
}
async function answerTour(guess) {
    const mine = tour, { to } = LESSONS[tour.lesson].steps[tour.step];
    tour.guess = guess;
    showTour();
    while (!runs.every(r => r.ready || r.error)) await new Promise(done => setTimeout(done, 20));
    const run = turn;
    while (turn === run && tour === mine && runs.every(r => !r.error) && Math.min(...runs.map(r => r.step)) < to) {
        await advance(run, Math.min(pace, to - Math.min(...runs.map(r => r.step))));
        await new Promise(done => setTimeout(done));
    }
    if (tour !== mine) return;
    tour.done = true;
    draw(true);
    look();
    showTour();
}
function showTour() {
    for (const e of document.querySelectorAll(".seen, .first")) e.classList.remove("seen", "first");
    $("tour").hidden = !tour;
    $("tours").querySelectorAll("button").forEach((e, i) => e.ariaCurrent = tour && tour.lesson === i ? "step" : null);
    if (!tour) return;
    const lesson = LESSONS[tour.lesson], step = lesson.steps[tour.step], inside = [];
    const shown = $(step.see).closest(".card");         // stands behind the lesson, so that both are seen
    shown.classList.add("first");
    shown.parentElement.classList.toggle("first", shown.parentElement.classList.contains("pair"));
    const button = (text, onclick, more = {}) => element("button", { type: "button", textContent: text, onclick, ...more });
    const close = button("×", () => { tour = null; showTour(); });
    close.setAttribute("aria-label", say("close"));
    inside.push(element("h2", {}, lesson.title[language], close), element("p", { textContent: step.ask[language] }));
    if (tour.guess < 0) {
        inside.push(element("div", { className: "answers" }, ...step.answers.map((a, i) => button(a[language], () => answerTour(i)))));
    } else if (!tour.done) {
        inside.push(element("p", { textContent: say("trains", { answer: step.answers[tour.guess][language] }) }));
    } else {
        const good = tour.guess === step.right, next = tour.step + 1 < lesson.steps.length;
        inside.push(element("p", {}, element("b", { textContent: say(good ? "asYouSaid" : "otherThanYouSaid", { answer: step.answers[step.right][language] }) }), " ", step.after[language]));
        inside.push(element("div", { className: "answers" }, next ? button(say("next"), () => begunTour(tour.lesson, tour.step + 1)) :
            button(say("finish"), () => { tour = null; showTour(); })));
        shown.classList.add("seen");
    }
    $("tour").setAttribute("aria-live", "polite");
    $("tour").replaceChildren(...inside);
}
