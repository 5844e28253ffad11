// The map, the table of clusters and the drawer of a report, from the JSON in #explorer-data. Nothing is requested.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("explorer-data").textContent);
  const unpack = (text, type) => new type(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
  const rows = unpack(data.rows, Float64Array), n = rows.length;
  const xs = unpack(data.x, Uint16Array), ys = unpack(data.y, Uint16Array);
  const layers = data.layers.map((layer) => ({ ...layer, labels: unpack(layer.labels, Int32Array) }));
  for (const column of data.columns) column.numbers = unpack(column.values, Float32Array);
  const whole = (number) => number.toLocaleString("en-US"), percent = (share) => `${(100 * share).toFixed(1)}%`;
  const short = (value) => Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–";
  const idOf = (row) => data.ids ? data.ids[row] : String(rows[row]);
  const all = Array.from({ length: n }, (_, row) => row);

  const h = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") element.style.cssText = value;
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value != null) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child != null));
    return element;
  };

  // --- state: names and merges of this page, the layer, and the rows in focus -----------------------------------------

  const names = new Map(), merges = new Map();
  const state = { layer: data.start, color: "cluster", sort: "size", down: true, focus: null, lasso: false };
  let labels, clusters, buckets, anchors, boxes = [];
  const target = (id) => { while (merges.has(id)) id = merges.get(id); return id; };
  const isBase = () => state.layer === data.start;
  const nameOf = (id) => id < 0 ? "no cluster" : clusters.get(id)?.name ?? `Cluster ${id}`;

  const relabel = () => {
    const layer = layers[state.layer];
    labels = isBase() && merges.size ? layer.labels.map(target) : layer.labels;
    clusters = new Map();
    const known = isBase() ? data.clusters : layer.clusters;
    if (known) {
      known.forEach((cluster, id) => {
        const into = isBase() ? target(id) : id;
        if (into !== id) return;
        clusters.set(id, { ...cluster, id, name: (isBase() && names.get(id)) || cluster.name });
      });
      if (isBase()) for (const id of merges.keys()) {
        const into = clusters.get(target(id));
        if (!into) continue;
        into.size += data.clusters[id].size;
        for (const measure of ["silhouette", "stability"]) delete into[measure];
      }
    } else {
      for (const id of labels) if (id >= 0) {
        if (!clusters.has(id)) clusters.set(id, { id, name: `Cluster ${id}`, size: 0 });
        clusters.get(id).size += 1;
      }
    }
    const members = new Map();
    labels.forEach((id, row) => { if (id >= 0) members.has(id) ? members.get(id).push(row) : members.set(id, [row]); });
    const median = (of, values) => Float64Array.from(of, (row) => values[row]).sort()[of.length >> 1];
    anchors = [...members].map(([id, of]) => ({ id, count: of.length, x: median(of, xs), y: median(of, ys) }))
      .sort((a, b) => b.count - a.count).slice(0, 60);
    paint();
    listClusters();
  };

  // --- colors ---------------------------------------------------------------------------------------------------------

  const RAMP = [[91, 110, 225], [63, 167, 196], [79, 196, 143], [183, 201, 74], [240, 162, 59]];
  const STEPS = 32;
  const ramp = (share) => {
    const at = share * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2);
    return `rgb(${RAMP[low].map((from, i) => Math.round(from + (RAMP[low + 1][i] - from) * (at - low))).join(",")})`;
  };
  let theme = {};
  const readTheme = () => {
    const style = getComputedStyle(document.documentElement), value = (name) => style.getPropertyValue(name).trim();
    theme = { ink: value("--ink"), paper: value("--paper"), none: "#8a8a8a", colors: [] };
    while (value(`--c${theme.colors.length}`)) theme.colors.push(value(`--c${theme.colors.length}`));
  };
  const clusterColor = (id) => id < 0 ? theme.none : theme.colors[id % theme.colors.length];
  const quantiles = (values) => {
    const sorted = values.filter(Number.isFinite).sort();
    return [sorted[Math.floor(0.02 * sorted.length)] ?? 0, sorted[Math.ceil(0.98 * sorted.length) - 1] ?? 1];
  };

  const paint = () => {
    readTheme();
    const column = data.columns[state.color], legend = $("legend");
    let colorOf = (row) => clusterColor(labels[row]);
    legend.replaceChildren();
    if (column?.categories) {
      colorOf = (row) => column.numbers[row] < 0 ? theme.none : theme.colors[column.numbers[row] % theme.colors.length];
      column.categories.forEach((name, code) => legend.append(
        h("span", { class: "mark", style: `--mark:${theme.colors[code % theme.colors.length]}` }, name), " "));
    } else if (column) {
      const [low, high] = quantiles(column.numbers), range = high - low || 1;
      colorOf = (row) => {
        const share = Math.min(Math.max((column.numbers[row] - low) / range, 0), 1);
        return Number.isNaN(share) ? theme.none : ramp(Math.round(share * STEPS) / STEPS);
      };
      legend.append(short(low), h("span", { class: "ramp", style: `background:linear-gradient(90deg,${
        RAMP.map((_, i) => ramp(i / (RAMP.length - 1))).join(",")})` }), short(high));
    }
    buckets = new Map();
    for (const row of all) {
      const color = colorOf(row);
      buckets.has(color) ? buckets.get(color).push(row) : buckets.set(color, [row]);
    }
    draw();
  };

  // --- the map --------------------------------------------------------------------------------------------------------

  const canvas = $("map"), context = canvas.getContext("2d");
  const view = { zoom: 1, x: 0, y: 0 };
  let size = { width: 0, height: 0, ratio: 1 }, path = null, marked = -1, isDue = false;
  const spanX = xs.reduce((a, b) => Math.max(a, b), 1), spanY = ys.reduce((a, b) => Math.max(a, b), 1);
  const scale = () => view.zoom * 0.92 * Math.min(size.width / spanX, size.height / spanY);
  const toX = (x) => size.width / 2 + view.x + (x - spanX / 2) * scale();
  const toY = (y) => size.height / 2 + view.y - (y - spanY / 2) * scale();

  const draw = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; drawNow(); });
  };
  const drawNow = () => {
    context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const shown = state.focus?.mask, base = Math.min(Math.max(1.7 * Math.sqrt(8000 / n), 1.9), 5);
    const radius = base * Math.min(Math.sqrt(view.zoom), 2.5) * (size.width < 500 ? 0.75 : 1);
    const dots = (of, wanted, radius) => {
      context.beginPath();
      for (const row of of) {
        if (shown && shown[row] !== wanted) continue;
        const x = toX(xs[row]), y = toY(ys[row]);
        if (x < -9 || y < -9 || x > size.width + 9 || y > size.height + 9) continue;
        context.moveTo(x + radius, y);
        context.arc(x, y, radius, 0, 7);
      }
      context.fill();
    };
    if (shown) {
      context.globalAlpha = 0.12;
      for (const [, of] of buckets) { context.fillStyle = theme.none; dots(of, 0, radius); }
    }
    const few = shown && 30 * state.focus.rows.length < n ? 2 : 1;
    context.globalAlpha = 0.8;
    for (const [color, of] of buckets) { context.fillStyle = color; dots(of, 1, few * radius); }
    context.globalAlpha = 1;
    if (marked >= 0) {
      context.strokeStyle = theme.ink;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(toX(xs[marked]), toY(ys[marked]), radius + 4, 0, 7);
      context.stroke();
    }
    if (path) {
      context.strokeStyle = theme.ink;
      context.setLineDash([4, 3]);
      context.lineWidth = 1.5;
      context.beginPath();
      path.forEach(([x, y], i) => i ? context.lineTo(x, y) : context.moveTo(x, y));
      context.stroke();
      context.setLineDash([]);
    }
    drawNames();
  };

  // Names stand at the medians of their clusters, the largest first; one that would cover another moves, or is left out.
  const drawNames = () => {
    boxes = [];
    context.font = `600 ${size.width < 500 ? 11 : 13}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const most = size.width < 500 ? 22 : 34, only = state.focus?.cluster;
    for (const { id, x, y } of anchors) {
      if (only !== undefined && id !== only) continue;
      const name = nameOf(id), text = name.length > most ? `${name.slice(0, most - 1)}…` : name;
      const height = 18, width = Math.max(context.measureText(text).width, 28) + 8;
      const anchor = [toX(x), toY(y)];
      if (anchor[0] < 0 || anchor[1] < 0 || anchor[0] > size.width || anchor[1] > size.height) continue;
      const left = Math.min(Math.max(anchor[0] - width / 2, 0), size.width - width);
      for (const step of [0, -1, 1, -2, 2, -3, 3]) {
        const top = anchor[1] - height / 2 + step * height * 0.8;
        const box = { id, left, top, right: left + width, bottom: top + height };
        const isFree = top >= 0 && box.bottom <= size.height && boxes.every((other) =>
          box.right <= other.left || other.right <= box.left || box.bottom <= other.top || other.bottom <= box.top);
        if (!isFree) continue;
        boxes.push(box);
        const middle = left + width / 2;
        context.strokeStyle = theme.paper;
        context.lineWidth = 4;
        context.strokeText(text, middle, box.bottom - 9);
        context.fillStyle = theme.ink;
        context.fillText(text, middle, box.bottom - 9);
        break;
      }
    }
  };

  const resize = () => {
    const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    if (!box.width) return;
    size = { width: box.width, height: box.height, ratio };
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    drawNow();
  };
  const zoom = (factor, at = [size.width / 2, size.height / 2]) => {
    if (!factor) Object.assign(view, { zoom: 1, x: 0, y: 0 });
    else {
      const next = Math.min(Math.max(view.zoom * factor, 0.5), 60), real = next / view.zoom;
      view.x = (view.x - (at[0] - size.width / 2)) * real + at[0] - size.width / 2;
      view.y = (view.y - (at[1] - size.height / 2)) * real + at[1] - size.height / 2;
      view.zoom = next;
    }
    draw();
  };
  const nearest = (x, y) => {
    let best = -1, least = 144;
    for (const row of all) {
      if (state.focus && !state.focus.mask[row]) continue;
      const distance = (toX(xs[row]) - x) ** 2 + (toY(ys[row]) - y) ** 2;
      if (distance < least) { least = distance; best = row; }
    }
    return best;
  };
  const isInside = (x, y) => {
    let inside = false;
    for (let i = 0, j = path.length - 1; i < path.length; j = i++) {
      const [ax, ay] = path[i], [bx, by] = path[j];
      if (ay > y !== by > y && x < (bx - ax) * (y - ay) / (by - ay) + ax) inside = !inside;
    }
    return inside;
  };

  const tip = $("tip");
  const point = (x, y) => {
    const row = nearest(x, y);
    tip.hidden = row < 0;
    canvas.style.cursor = row < 0 ? "" : "pointer";
    if (row < 0) return;
    tip.replaceChildren(h("b", {}, h("bdi", {}, `${data.idName} ${idOf(row)}`)),
      h("span", { class: "mark", style: `--mark:${clusterColor(labels[row])}` }, nameOf(labels[row])));
    const column = data.columns[state.color];
    if (column) tip.append(h("span", {}, `${column.name}: ${valueOf(column, row) || "–"}`));
    if (data.texts) tip.append(h("bdi", {}, data.texts[row]));
    tip.dataset.row = row;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(Math.min(x + 14, size.width - box.width - 4), 0)}px`;
    tip.style.top = `${y + 18 + box.height > size.height ? Math.max(y - box.height - 12, 0) : y + 18}px`;
  };

  let drag = null;
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.x, event.clientY - box.y]; };
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = at(event);
    canvas.setPointerCapture(event.pointerId);
    drag = { x, y, moved: 0 };
    tip.hidden = true;
    if (state.lasso || event.shiftKey) path = [[x, y]];
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (!drag) return point(x, y);
    drag.moved += Math.abs(x - drag.x) + Math.abs(y - drag.y);
    if (path) path.push([x, y]);
    else { view.x += x - drag.x; view.y += y - drag.y; }
    Object.assign(drag, { x, y });
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = at(event), wasClick = drag && drag.moved < 6;
    drag = null;
    if (path && path.length > 2) {
      const before = state.focus?.cluster === undefined ? null : state.focus.mask;
      const mask = Uint8Array.from(all, (row) => (!before || before[row]) && isInside(toX(xs[row]), toY(ys[row])) ? 1 : 0);
      path = null;
      return focus({ title: "Selected rows", mask });
    }
    path = null;
    if (!wasClick) return draw();
    const box = boxes.find((b) => x >= b.left && x <= b.right && y >= b.top && y <= b.bottom), row = nearest(x, y);
    const id = row >= 0 ? labels[row] : box?.id;
    if (id === undefined || id < 0) return focus(null);
    focusCluster(id);
  });
  canvas.addEventListener("pointercancel", () => { drag = path = null; draw(); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls unless the map is meant.
    if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), at(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    const factor = { "+": 1.4, "=": 1.4, "-": 1 / 1.4, 0: 0 }[event.key];
    if (!moves && factor === undefined) return;
    event.preventDefault();
    if (moves) { view.x += moves[0]; view.y += moves[1]; draw(); } else zoom(factor);
  });

  // --- rows: values, what some have in common, CSV --------------------------------------------------------

  const valueOf = (column, row) => {
    const value = column.numbers[row];
    if (column.categories) return value < 0 ? "" : column.categories[value];
    return Number.isNaN(value) ? "" : String(Number(value.toPrecision(7)));
  };
  const listRows = (of) => h("ul", { class: "rows" }, ...of.map((row) => h("li", {},
    h("button", { type: "button", class: "row", "data-row": row, onclick: () => { marked = row; draw(); } },
      h("b", {}, h("bdi", {}, idOf(row))), data.texts ? h("bdi", {}, data.texts[row]) : null))));

  const words = (text) => new Set(text.toLowerCase().match(/\p{L}[\p{L}\p{N}'’-]{2,}/gu) ?? []);
  const countWords = (of) => {
    const counts = new Map();
    for (const row of of) for (const word of words(data.texts[row])) counts.set(word, (counts.get(word) ?? 0) + 1);
    return counts;
  };
  let allWords = null;
  const commonWords = (of) => {
    allWords ??= countWords(all);
    return [...countWords(of)].filter(([, count]) => count > 1 || of.length === 1)
      .map(([word, count]) => [word, count / of.length * Math.log(count / of.length / (allWords.get(word) / n))])
      .filter(([, score]) => score > 0).sort((a, b) => b[1] - a[1]).slice(0, 10).map(([word]) => word);
  };
  const moments = (numbers, of) => {
    let count = 0, sum = 0, squares = 0;
    for (const row of of) if (Number.isFinite(numbers[row])) { count++; sum += numbers[row]; squares += numbers[row] ** 2; }
    return { mean: sum / count, deviation: Math.sqrt(Math.max(squares / count - (sum / count) ** 2, 0)) };
  };
  const commonColumns = (of) => data.columns.filter((column) => column.kind !== "measure" && !column.categories)
    .map((column) => {
      column.moments ??= moments(column.numbers, all);
      const inside = moments(column.numbers, of), { mean, deviation } = column.moments;
      return { column, effect: deviation ? (inside.mean - mean) / deviation : 0, mean: inside.mean };
    }).filter(({ effect }) => Math.abs(effect) > 0.2).sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).slice(0, 5);
  const commonCategories = (of) => data.columns.filter((column) => column.categories).flatMap((column) =>
    column.categories.map((name, code) => {
      const share = (among) => among.reduce((sum, row) => sum + (column.numbers[row] === code), 0) / among.length;
      return { text: `${column.name} ${name}`, inside: share(of), whole: share(all) };
    })).filter(({ inside, whole: w }) => inside > 0.3 && inside > 1.3 * w).sort((a, b) => b.inside - a.inside).slice(0, 4);

  const histogram = ({ column, effect, mean }, of) => {
    const [low, high] = quantiles(column.numbers), bins = 24, mask = new Uint8Array(n);
    for (const row of of) mask[row] = 1;
    const counts = [new Float64Array(bins), new Float64Array(bins)], totals = [0, 0];
    for (const row of all) {
      const value = column.numbers[row];
      if (!Number.isFinite(value)) continue;
      const bin = Math.min(Math.max(Math.floor((value - low) / (high - low || 1) * bins), 0), bins - 1);
      counts[mask[row]][bin]++;
      totals[mask[row]]++;
    }
    const top = Math.max(...counts.map((bars, i) => Math.max(...bars) / (totals[i] || 1)));
    const outline = (i) => `M0 40${Array.from(counts[i], (count, bin) => {
      const y = 40 - 38 * count / (totals[i] || 1) / top;
      return `L${bin * 10} ${y}L${bin * 10 + 10} ${y}`;
    }).join("")}L240 40Z`;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 240 40");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    for (const [i, name] of [[0, "others"], [1, "own"]]) {
      const shape = document.createElementNS(svg.namespaceURI, "path");
      shape.setAttribute("d", outline(i));
      shape.setAttribute("class", name);
      svg.append(shape);
    }
    const { mean: usual, deviation } = column.moments, near = (value) => short(Math.abs(value) < 1e-6 * deviation ? 0 : value);
    const text = `${effect > 0 ? "high" : "low"} ${column.name}: ${effect > 0 ? "+" : "−"}${Math.abs(effect).toFixed(1)} standard ` +
      `deviations, mean ${near(mean)}, of all ${near(usual)}`;
    return h("li", {}, text, svg);
  };

  const inCommon = (of, terms = []) => {
    const found = terms.length ? terms : data.texts && of.length ? commonWords(of) : [];
    const columns = commonColumns(of), categories = commonCategories(of);
    return [
      found.length ? h("p", {}, h("b", {}, "Terms: "), found.join(", ")) : null,
      categories.length ? h("p", {}, h("b", {}, "Categories: "),
        categories.map(({ text, inside, whole: w }) => `${text} ${percent(inside)} (of all ${percent(w)})`).join(", ")) : null,
      columns.length ? h("ul", { class: "columns", "aria-label": "Distributions; outlined: other rows" },
        ...columns.map((found) => histogram(found, of))) : null,
    ];
  };

  const quoted = (value) => /[",\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  const save = (name, lines) => {
    const text = lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
    const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const saveRows = (of) => save("rows.csv", [
    [...(data.ids ? [data.idName] : []), "row", "cluster", "cluster_name", ...(data.texts ? [data.textName] : []),
      ...data.columns.map((column) => column.name)],
    ...of.map((row) => [...(data.ids ? [idOf(row)] : []), rows[row], labels[row], labels[row] < 0 ? "" : nameOf(labels[row]),
      ...(data.texts ? [data.texts[row]] : []), ...data.columns.map((column) => valueOf(column, row))]),
  ]);

  // --- the drawer: a cluster, a selection or the rows that a search has found -----------------------------------------

  const drawer = $("drawer");
  let opener = null;
  const focus = (next) => {
    if (next) next.rows = all.filter((row) => next.mask[row]);
    state.focus = next;
    marked = -1;
    $("status").textContent = next ? `${next.title}: ${whole(next.rows.length)} rows of the map` : "";
    for (const line of document.querySelectorAll("#cluster-table tr[data-cluster]")) {
      line.classList.toggle("is-shown", next?.cluster === Number(line.dataset.cluster));
    }
    showDrawer();
    draw();
  };
  const focusCluster = (id) => {
    opener = document.activeElement;
    focus({ title: nameOf(id), cluster: id, mask: Uint8Array.from(labels, (label) => label === id ? 1 : 0) });
    $("drawer-title").focus({ preventScroll: true });
  };
  const close = () => {
    const back = opener;
    opener = null;
    $("search").value = "";
    focus(null);
    if (back?.isConnected) back.focus();
  };

  const showDrawer = () => {
    const { focus: shown } = state;
    drawer.hidden = !shown;
    drawer.parentElement.classList.toggle("has-drawer", Boolean(shown));
    if (!shown) return;
    const cluster = shown.cluster === undefined ? null : clusters.get(shown.cluster);
    const parts = [h("header", {}, h("h3", { id: "drawer-title", tabindex: -1 }, shown.title),
      h("button", { type: "button", onclick: close, "aria-label": "Close" }, "×"))];
    const exportButton = h("button", { type: "button", id: "export", onclick: () => saveRows(shown.rows) }, "Export CSV");
    if (cluster) {
      const facts = [["rows", whole(cluster.size)], ["share", percent(cluster.size / data.nRows)],
        ...["silhouette", "stability"].filter((name) => cluster[name] !== undefined)
          .map((name) => [name, cluster[name].toFixed(2)])];
      parts.push(h("p", { class: "facts-line" }, facts.map(([name, value]) => `${name} ${value}`).join(" · ")));
      if (isBase()) parts.push(editor(cluster));
    } else {
      const counts = new Map();
      for (const row of shown.rows) counts.set(labels[row], (counts.get(labels[row]) ?? 0) + 1);
      parts.push(h("p", {}, `${whole(shown.rows.length)} of ${whole(n)} rows of the map`), h("ul", { class: "shares" },
        ...[...counts].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([id, count]) =>
          h("li", {}, h("span", { class: "mark", style: `--mark:${clusterColor(id)}` }, nameOf(id)),
            ` ${percent(count / shown.rows.length)}`))));
    }
    if (shown.rows.length) parts.push(h("p", {}, exportButton, n < data.nRows ? ` ${whole(shown.rows.length)} rows of the sample` : null));
    if (shown.rows.length) parts.push(...inCommon(shown.rows, cluster?.terms));
    if (cluster?.exemplars && isBase()) {
      parts.push(h("h4", {}, "Representative rows"), listRows(cluster.exemplars));
      if (cluster.borderline.length) parts.push(h("h4", {}, "Borderline rows"), listRows(cluster.borderline));
    } else parts.push(listRows(shown.rows.slice(0, 40)));
    drawer.replaceChildren(...parts.filter(Boolean));
  };

  const editor = (cluster) => {
    const input = h("input", { value: cluster.name, id: "name", onchange: () => {
      const text = input.value.trim();
      if (!text) return;
      names.set(cluster.id, text);
      changed(cluster.id);
    } });
    const others = [...clusters.values()].filter(({ id }) => id !== cluster.id);
    const select = h("select", { id: "merge", onchange: () => {
      merges.set(cluster.id, Number(select.value));
      changed(Number(select.value));
    } }, h("option", { value: "" }, "–"), ...others.map(({ id, name }) => h("option", { value: id }, name)));
    return h("div", { class: "editor" }, h("label", {}, "Name ", input), h("label", {}, "Merge into ", select));
  };
  const changed = (id) => {
    relabel();
    if (id !== undefined) focusCluster(id);
  };

  // --- the table of clusters ------------------------------------------------------------------------------------------

  const MEASURES = ["silhouette", "stability"];
  const listClusters = () => {
    const list = [...clusters.values()];
    const measures = MEASURES.filter((name) => list.some((cluster) => cluster[name] !== undefined));
    const key = state.sort, sign = state.down ? -1 : 1;
    list.sort((a, b) => key === "name" ? sign * a.name.localeCompare(b.name)
      : sign * ((a[key] ?? -9) - (b[key] ?? -9)) || a.id - b.id);
    const heading = (name, text, extra = "") => h("th", {
      scope: "col", class: `${name === "name" ? "" : "number"} ${extra}`.trim(),
      "aria-sort": state.sort === name ? (state.down ? "descending" : "ascending") : "none",
    }, h("button", { type: "button", onclick: () => {
      Object.assign(state, { down: state.sort === name ? !state.down : name !== "name", sort: name });
      listClusters();
      document.querySelector(`#cluster-table th[aria-sort$=ing] button`)?.focus();
    } }, text));
    const largest = list.reduce((most, { size: rows }) => Math.max(most, rows), 1);
    const table = h("table", {},
      h("caption", {}, `${whole(list.length)} clusters of ${whole(data.nRows)} rows; select one to isolate it.`),
      h("thead", {}, h("tr", {}, heading("name", "cluster"), heading("size", "rows"), h("th", { scope: "col", class: "number" }, "share"),
        ...measures.map((name) => heading(name, name, "more")))),
      h("tbody", {}, ...list.slice(0, 1000).map((cluster) => h("tr", { "data-cluster": cluster.id },
        h("td", {}, h("button", { type: "button", class: "mark", style: `--mark:${clusterColor(cluster.id)}`,
          onclick: () => state.focus?.cluster === cluster.id ? close() : focusCluster(cluster.id) },
        h("bdi", {}, cluster.name))),
        h("td", { class: "number" }, h("span", { class: "bar", style: `--share:${cluster.size / largest}` }, whole(cluster.size))),
        h("td", { class: "number" }, percent(cluster.size / data.nRows)),
        ...measures.map((name) => h("td", { class: "number more" }, cluster[name] === undefined ? "–" : cluster[name].toFixed(2)))))));
    $("cluster-table").replaceChildren(h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of clusters" }, table));
  };

  // --- controls -------------------------------------------------------------------------------------------------------

  const color = $("color");
  color.append(h("option", { value: "cluster" }, "cluster"),
    ...data.columns.map((column, i) => h("option", { value: i }, column.name)));
  color.addEventListener("change", () => { state.color = color.value; paint(); });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
  }
  $("lasso").addEventListener("click", () => {
    state.lasso = !state.lasso;
    $("lasso").setAttribute("aria-pressed", state.lasso);
    canvas.classList.toggle("is-lasso", state.lasso);
  });

  let texts = null, wait = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(() => {
      const query = $("search").value.trim().toLowerCase();
      if (!query) return focus(null);
      texts ??= all.map((row) => `${idOf(row)}\n${data.texts ? data.texts[row] : ""}`.toLowerCase());
      focus({ title: `Rows with “${query}”`, mask: Uint8Array.from(texts, (text) => text.includes(query) ? 1 : 0) });
    }, 120);
  });
  $("explorer").addEventListener("keydown", (event) => { if (event.key === "Escape" && state.focus) close(); });

  const slider = $("layer");
  if (slider) {
    const tell = () => {
      $("layer-title").textContent = layers[state.layer].title;
      slider.setAttribute("aria-valuetext", layers[state.layer].title);
    };
    slider.addEventListener("input", () => { state.layer = Number(slider.value); tell(); focus(null); relabel(); });
    tell();
  }

  $("save-names").addEventListener("click", () => save("names.csv", [["cluster", "name"],
    ...[...(isBase() ? clusters.values() : [])].sort((a, b) => a.id - b.id).map(({ id, name }) => [id, name])]));
  $("save-merges").addEventListener("click", () => save("merges.csv", [["cluster", "into"],
    ...[...merges.keys()].sort((a, b) => a - b).map((id) => [id, target(id)])]));
  $("load").addEventListener("change", async () => {
    for (const file of $("load").files) {
      const [head, ...lines] = (await file.text()).replace(/^\ufeff/, "").split(/\r?\n/).filter(Boolean)
        .map((line) => line.match(/^([^,]*),(.*)$/)?.slice(1) ?? []);
      for (const [id, value] of lines) {
        const text = value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value;
        if (!data.clusters[id]) continue;
        if (head[1] === "name") names.set(Number(id), text);
        else if (head[1] === "into" && target(Number(text)) !== Number(id)) merges.set(Number(id), Number(text));
      }
    }
    $("load").value = "";
    changed();
  });

  for (const element of document.querySelectorAll(".live")) element.hidden = false;
  relabel();
  new ResizeObserver(resize).observe(canvas);
  resize();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { paint(); listClusters(); });
  // For tests: where a row is on the page, and which rows are in focus.
  canvas.placeOf = (row) => { const box = canvas.getBoundingClientRect(); return [box.x + toX(xs[row]), box.y + toY(ys[row])]; };
  canvas.inFocus = () => state.focus ? state.focus.rows : null;
  canvas.labels = () => Array.from(labels);
  $("explorer").dataset.ready = "yes";
})();
