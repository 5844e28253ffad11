// The map of a report: colors that follow the theme, clusters on and off, zoom, the row under the pointer.
(() => {
  "use strict";
  const root = document.getElementById("map-of-rows");
  if (!root || !window.Bokeh) return;
  const parsed = (id) => JSON.parse(document.getElementById(id).textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const rows = parsed("map-rows");
  const labels = new Int32Array(bytes(rows.labels));
  const live = document.getElementById("map-live");
  const hovered = document.getElementById("map-hovered");
  const boxes = [...root.querySelectorAll("[data-cluster]")];
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const show = () => {
    for (const element of root.querySelectorAll("[hidden]")) element.hidden = false;
    root.classList.add("is-live");
  };

  const begin = (plot) => {
    const found = (name) => plot.document.get_model_by_name(name);
    const source = found("rows"), mapper = found("colors"), shown = found("shown"), names = found("names");
    const ranges = [plot.x_range, plot.y_range];
    const whole = ranges.map((range) => [range.start, range.end]);

    const paint = () => {
      const style = getComputedStyle(document.documentElement);
      const value = (name) => style.getPropertyValue(name).trim();
      const colors = [];
      while (value(`--c${colors.length}`)) colors.push(value(`--c${colors.length}`));
      mapper.palette = ["#777777", ...Array.from({ length: rows.clusters }, (_, i) => colors[i % colors.length])];
      if (names) names.glyph.setv({ text_color: value("--ink"), background_fill_color: value("--paper") });
    };
    paint();
    dark.addEventListener("change", paint);

    const choose = () => {
      const wanted = new Set(boxes.filter((box) => box.checked).map((box) => Number(box.dataset.cluster)));
      const indices = [];
      labels.forEach((label, row) => { if (wanted.has(label)) indices.push(row); });
      shown.indices = indices;
    };
    for (const box of boxes) box.addEventListener("change", choose);
    for (const button of root.querySelectorAll("[data-show]")) {
      button.addEventListener("click", () => {
        for (const box of boxes) box.checked = button.dataset.show === "all";
        choose();
      });
    }

    for (const button of root.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", () => {
        const factor = Number(button.dataset.zoom);
        ranges.forEach((range, i) => {
          const [low, high] = factor ? [range.start, range.end] : whole[i];
          const middle = (low + high) / 2, reach = (high - low) / 2 * (factor || 1);
          range.setv({ start: middle - reach, end: middle + reach });
        });
      });
    }

    const tell = (row) => {
      const cluster = labels[row];
      const parts = [];
      if (rows.thumbnails) {
        const { width, height, columns } = rows.thumbnails;
        const picture = document.createElement("span");
        picture.className = "map-thumbnail";
        const zoom = 56 / Math.max(width, height);
        picture.style.cssText = `width:${width * zoom}px;height:${height * zoom}px;` +
          `background-size:${columns * width * zoom}px auto;background-position:` +
          `${-(row % columns) * width * zoom}px ${-Math.floor(row / columns) * height * zoom}px`;
        parts.push(picture);
      }
      const add = (text, name) => {
        const element = document.createElement("bdi");
        element.className = name;
        element.textContent = text;
        parts.push(element, " ");
      };
      add(`${rows.idName} ${rows.ids[row]}`, "map-id");
      if (cluster >= 0 && document.getElementById(`cluster-${cluster}`)) {
        const link = document.createElement("a");
        link.href = `#cluster-${cluster}`;
        link.textContent = `cluster ${cluster}`;
        parts.push(link, " ");
      } else {
        add(cluster < 0 ? "in no cluster" : `cluster ${cluster}`, "");
      }
      if (rows.texts) add(rows.texts[row], "map-text");
      hovered.replaceChildren(...parts);
      hovered.dataset.row = rows.ids[row];
    };
    source.inspect.connect(() => {
      const [row] = source.inspected.indices;
      if (row !== undefined) tell(row);
    });

    const slider = document.getElementById("map-gamma");
    if (slider) {
      const { gammas, clusters, gaps, labels: packed } = rows.frames;
      const all = new Uint16Array(bytes(packed));
      const says = document.getElementById("map-gamma-says");
      const go = (recolor) => {
        const at = Number(slider.value), n = labels.length;
        says.textContent = `gamma ${gammas[at]}: ${clusters[at]} clusters, duality gap ${gaps[at]}`;
        slider.setAttribute("aria-valuetext", says.textContent);
        if (!recolor) return;
        const now = Float32Array.from(all.subarray(at * n, (at + 1) * n));
        source.data = { ...Object.fromEntries(["x", "y"].map((name) => [name, source.get(name)])), label: now };
      };
      slider.addEventListener("input", () => go(true));
      go(false);
    }
    root.dataset.ready = "yes";
  };

  show();
  Bokeh.embed.embed_item(parsed("map-plot"), "map-live").then((views) => begin(views.roots[0].model));
})();
