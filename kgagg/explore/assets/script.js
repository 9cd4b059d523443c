"use strict";
// Inputs with data-find suggest names as one types: a list that arrows, Enter and Escape work on.
document.querySelectorAll("input[data-find]").forEach((input, number) => {
  const box = document.createElement("span");
  box.className = "finder";
  input.replaceWith(box);
  box.append(input);
  const list = document.createElement("ul");
  list.id = "found-" + number;
  list.setAttribute("role", "listbox");
  list.hidden = true;
  box.append(list);
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-controls", list.id);
  input.setAttribute("aria-expanded", "false");
  let asked = null, chosen = -1;

  function close() {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }
  function take(item) {
    const { kind, name } = item.dataset;
    close();
    if (input.dataset.find) { input.value = name; input.focus(); return; }
    const words = new URLSearchParams(kind === "entity" ? { name } : { relation: name });
    location.href = (kind === "entity" ? "/entity?" : "/rules?") + words;
  }
  function show(found) {
    list.replaceChildren(...found.map((one, place) => {
      const item = document.createElement("li");
      item.id = list.id + "-" + place;
      item.setAttribute("role", "option");
      item.dataset.kind = one.kind;
      item.dataset.name = one.name;
      item.textContent = one.label === one.name ? one.name : one.label + "  (" + one.name + ")";
      item.addEventListener("mousedown", event => { event.preventDefault(); take(item); });
      return item;
    }));
    chosen = -1;
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
  }
  input.addEventListener("input", async () => {
    if (asked) asked.abort();
    if (!input.value.trim()) { close(); return; }
    asked = new AbortController();
    const words = new URLSearchParams({ text: input.value, kind: input.dataset.find });
    try {
      const answer = await fetch("/find?" + words, { signal: asked.signal });
      if (answer.ok) show(await answer.json());
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  });
  input.addEventListener("keydown", event => {
    const items = [...list.children];
    if (list.hidden || !items.length) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : items.length - (chosen < 0 ? 0 : 1))) % items.length;
      items.forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
      items[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", items[chosen].id);
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      take(items[chosen]);
    } else if (event.key === "Escape") {
      close();
    }
  });
  input.addEventListener("blur", close);
});
