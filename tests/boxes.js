// Appended to a copy of a page that is dumped. Lists texts of pictures that overlap, that leave
// their picture, or that are wider than the page, one a line.
const found = [];
function inside(a, b) {
    return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
}
function overlap(a, b) {        // by more than a quarter of a line: ascenders do not count
    const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return width > 1 && height > 0.25 * Math.min(a.height, b.height);
}
for (const picture of document.querySelectorAll("svg")) {
    if (picture.parentElement.closest("svg")) continue;
    const frame = picture.getBoundingClientRect();
    const name = picture.querySelector("title").textContent;
    const texts = [...picture.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([text, box], i) => {
        if (!inside(box, frame)) found.push(name + ": leaves the picture: " + text);
        for (const [other, second] of texts.slice(i + 1))
            if (overlap(box, second)) found.push(name + ": overlap: " + text + " | " + other);
    });
}
if (document.documentElement.scrollWidth > innerWidth + 1)
    found.push("wider than the page: " + document.documentElement.scrollWidth);
const list = document.createElement("pre");
list.id = "boxes";
list.textContent = found.concat("pictures: " + document.querySelectorAll("svg > title").length).join("\n");
document.body.append(list);
