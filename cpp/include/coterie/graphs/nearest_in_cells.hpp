// Nearest neighbors by products within overlapping cells.
//
// A row belongs to the cell of its nearest center, and visits each cell whose border with its own is near. It is compared
// with the points of its own cell, with the points that visit this cell, and with those of the cells that it visits. So a
// pair is compared if either of the two visits the cell of the other, and only once.
#pragma once

#include <algorithm>

#include "coterie/centers/differences_by_lanes.hpp"
#include "coterie/centers/scores.hpp"
#include "coterie/centers/sorted_lists.hpp"
#include "coterie/graphs/shortlist.hpp"

namespace coterie {

// Points sorted into cells; each cell fills whole panels.
template <class T>
struct CellPanels {
    const T* panels;              // n_panels x n_columns x kLanes: the points times -2
    const T* panel_offsets;       // n_panels x kLanes: squared lengths, infinite in empty slots
    const std::int32_t* order;    // n_panels x kLanes: the point in each slot, -1 for none
    const Index* panel_starts;    // n_cells + 1: the panels of each cell
    const T* points;              // n_points x n_columns
    const T* offsets;             // n_points: their squared lengths
    const Index* visitor_starts;  // n_cells + 1
    const std::int32_t* visitors; // the points that visit each cell
    Index n_points;
};

// The cells that each row looks into.
struct CellVisits {
    const Index* row_order;     // n_listed: rows of one cell lie together
    const std::int32_t* own;    // n_rows: the cell of each row; ~c for a row of cell c that is compared with those of `cells` only
    const Index* starts;        // n_rows + 1
    const std::int32_t* cells;  // the cells that each row visits, ascending
    Index n_listed;
};

namespace {

// The cell of each row, and which others it visits: those whose border with its own is at most half of `reach` away. The
// distance of x in the cell of a to the border with that of c is (|x - c|^2 - |x - a|^2) / (2 |a - c|).
// IN x, centers, gaps (n_centers x width: distances between centers, 0 beyond the last one; width in whole panels);
// OUT own (n_rows), visited (n_rows x n_panels: a bit for each center of a panel).
template <class Isa, class T>
void cells_in_reach(const DenseRows<T>& x, const Centers<T>& centers, const T* gaps, T reach, std::int32_t* own,
                    std::uint16_t* visited, int n_threads) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kTiles = 4, L = sizeof(V) / sizeof(T);
    const Panels<T> panels = pack<DenseRows<T>>(centers, nullptr, centers.n_centers, n_threads);
    const Index width = panels.n_panels * W;
    const auto make_scratch = [&] { return Buffer<T>(H * width); };
    parallel_for(ceil_div(x.n_rows, H * kTiles), n_threads, make_scratch, [&](Index task, Buffer<T>& scores) {
        Index which[H];
        for (Index first = task * H * kTiles; first < min_index(x.n_rows, (task + 1) * H * kTiles); first += H) {
            const Index n = min_index(H, x.n_rows - first);
            T best[H];
            for (Index r = 0; r < n; ++r) {
                which[r] = first + r;
                best[r] = infinity<T>();
                own[first + r] = 0;
            }
            score_panels<Isa>(x, which, n, panels, 0, panels.n_panels, [&](Index p, const T* tile) {
                const auto id = [&](int lane) { return static_cast<std::int32_t>(p * W + lane); };
                for (Index r = 0; r < n; ++r) {
                    for (Index l = 0; l < W; l += L)
                        *reinterpret_cast<V*>(scores.data() + r * width + p * W + l) =
                            *reinterpret_cast<const V*>(tile + r * W + l);
                    insert_lanes<Isa>(tile + r * W, id, 1, best + r, own + first + r);
                }
            });
            for (Index r = 0; r < n; ++r) {
                const T* const gap = gaps + own[first + r] * width;
                for (Index p = 0; p < panels.n_panels; ++p) {
                    alignas(64) T nearer[W];
                    for (Index l = 0; l < W; l += L)
                        *reinterpret_cast<V*>(nearer + l) =
                            *reinterpret_cast<const V*>(scores.data() + r * width + p * W + l) -
                            reach * *reinterpret_cast<const Loaded*>(gap + p * W + l);
                    visited[(first + r) * panels.n_panels + p] =
                        static_cast<std::uint16_t>(Isa::below(nearer, best[r]));
                }
            }
        }
    });
}

// The points of lowest score |y|^2 - 2 x.y among those that each listed row is compared with. What is found for a row
// depends on no other row. A task is some rows of one cell.
// IN x, cells, visits; OUT ids, scores (n_rows x m, of the rows listed): ascending by score; -1 and infinite where there
// are too few.
template <class Isa, class T>
void nearest_in_cells(const DenseRows<T>& x, const CellPanels<T>& cells, const CellVisits& visits, Index m,
                      std::int32_t* ids, T* scores, int n_threads) {
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kStep = H < 4 ? 1 : H / 4, kRows = 192, kPackedBytes = 256 * 1024;
    const Index d = x.n_columns, capacity = Shortlist<Isa, T>::capacity(m);
    const Index n_packed = max_index(1, kPackedBytes / (d * kLineBytes));
    const DenseRows<T> points{cells.points, cells.n_points, d, nullptr};
    Buffer<Index> tasks(visits.n_listed + 1);
    Index n_tasks = 0;
    for (Index i = 0; i < visits.n_listed; ++i)
        if (i == 0 || visits.own[visits.row_order[i]] != visits.own[visits.row_order[i - 1]] ||
            i - tasks[n_tasks - 1] == kRows)
            tasks[n_tasks++] = i;
    tasks[n_tasks] = visits.n_listed;
    struct Scratch {
        Buffer<std::uint8_t> is_visitor;  // n_points: whether a point visits the cell of the task
        Buffer<T> panels, offsets, scores;
        Buffer<std::int32_t> ids;
        Buffer<Index> pairs;  // cell * kRows + row
    };
    const auto make_scratch = [&] {
        Scratch scratch{Buffer<std::uint8_t>(cells.n_points), Buffer<T>(n_packed * d * W), Buffer<T>(n_packed * W),
                        Buffer<T>(kRows * capacity), Buffer<std::int32_t>(kRows * capacity), Buffer<Index>(kRows * 16)};
        scratch.is_visitor.fill(0);
        return scratch;
    };
    parallel_for(n_tasks, n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        const Index* const rows = visits.row_order + tasks[task];
        const Index n_rows = tasks[task + 1] - tasks[task], own = visits.own[rows[0]];
        const Index cell = own < 0 ? ~own : own;
        const std::int32_t* const visitors = cells.visitors + cells.visitor_starts[cell];
        const Index n_visitors = cells.visitor_starts[cell + 1] - cells.visitor_starts[cell];
        Shortlist<Isa, T> lists[kRows];
        Index asking[kRows];
        for (Index r = 0; r < n_rows; ++r) {
            lists[r] = {scratch.scores.data() + r * capacity, scratch.ids.data() + r * capacity, m};
            asking[r] = r;
        }
        // slots: which point is in each; those that have been met already are marked as visitors.
        const auto compare = [&](Index n_asking, const T* panels, const T* offsets, Index n_panels,
                                 const std::int32_t* slots) {
            for (Index p = 0; p < n_panels; ++p)
                for (Index first = 0; first < n_asking; first += H) {
                    const Index n = min_index(H, n_asking - first);
                    alignas(64) T tile[H * W];
                    const T* places[H];
                    // Few rows alone would wait for their sums: the last one stands in for those that are missing.
                    const Index n_padded = min_index(H, ceil_div(n, kStep) * kStep);
                    for (Index r = 0; r < n_padded; ++r) places[r] = x.row(rows[asking[first + min_index(r, n - 1)]]);
                    dense_tiles<Isa, T, H, 64>(places, n_padded, d, panels + p * d * W, offsets + p * W, tile);
                    const auto id = [&](int lane) {
                        const std::int32_t point = slots[p * W + lane];
                        return scratch.is_visitor[point] ? std::int32_t{-1} : point;
                    };
                    for (Index r = 0; r < n; ++r) lists[asking[first + r]].add_lanes(tile + r * W, id);
                }
        };
        const auto compare_cell = [&](Index n_asking, Index c) {
            const Index p = cells.panel_starts[c];
            compare(n_asking, cells.panels + p * d * W, cells.panel_offsets + p * W, cells.panel_starts[c + 1] - p,
                    cells.order + p * W);
        };
        if (own >= 0) {
            compare_cell(n_rows, own);
            for (Index r = 0; r < n_rows; ++r) lists[r].shrink();
            for (Index first = 0; first < n_visitors; first += n_packed * W) {
                const Index n = min_index(n_packed * W, n_visitors - first), n_panels = ceil_div(n, W);
                for (Index p = 0; p < n_panels; ++p) {
                    const Index n_taken = min_index(W, n - p * W);
                    Index taken[W];
                    for (Index l = 0; l < W; ++l) {
                        taken[l] = visitors[first + p * W + min_index(l, n_taken - 1)];
                        scratch.offsets[p * W + l] = l < n_taken ? cells.offsets[taken[l]] : infinity<T>();
                    }
                    T* const panel = scratch.panels.data() + p * d * W;
                    rows_to_lanes<Isa>(points, taken, n_taken, panel);
                    for (Index e = 0; e < d * W; ++e) panel[e] *= T(-2);
                }
                compare(n_rows, scratch.panels.data(), scratch.offsets.data(), n_panels, visitors + first);
            }
        }
        Index n_pairs = 0;
        for (Index r = 0; r < n_rows; ++r) n_pairs += visits.starts[rows[r] + 1] - visits.starts[rows[r]];
        if (scratch.pairs.size() < n_pairs) scratch.pairs = Buffer<Index>(2 * n_pairs);
        Index* const pairs = scratch.pairs.data();
        n_pairs = 0;
        for (Index r = 0; r < n_rows; ++r)
            for (Index v = visits.starts[rows[r]]; v < visits.starts[rows[r] + 1]; ++v)
                pairs[n_pairs++] = visits.cells[v] * kRows + r;
        std::sort(pairs, pairs + n_pairs, [](Index a, Index b) { return a < b; });
        for (Index v = 0; v < n_visitors; ++v) scratch.is_visitor[visitors[v]] = 1;
        for (Index i = 0; i < n_pairs;) {
            const Index c = pairs[i] / kRows;
            Index n_asking = 0;
            for (; i < n_pairs && pairs[i] / kRows == c; ++i) asking[n_asking++] = pairs[i] % kRows;
            compare_cell(n_asking, c);
        }
        for (Index v = 0; v < n_visitors; ++v) scratch.is_visitor[visitors[v]] = 0;
        for (Index r = 0; r < n_rows; ++r) lists[r].finish(scores + rows[r] * m, ids + rows[r] * m);
    });
}

}  // namespace
}  // namespace coterie
