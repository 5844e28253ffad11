// Nearest neighbours by products with the points of a few cells.
#pragma once

#include "coterie/centers/scores.hpp"
#include "coterie/graphs/shortlist.hpp"
#include "coterie/machine/marks.hpp"

namespace coterie {

// Points sorted into cells; each cell fills whole panels.
struct Cells {
    const std::int32_t* order;   // n_slots: which point is in the slot, -1 for none
    const Index* panel_starts;   // n_cells + 1: the panels of each cell
    Index n_slots;
    Index n_cells;
};

// Some rows, and the cells in which each row looks.
struct CellVisits {
    const Index* row_order;      // n_listed: neighbours in this order, which look in much the same cells, share a group
    const std::int32_t* cells;   // n_rows x n_visits
    Index n_listed;
    Index n_visits;
};

namespace {

// The points of lowest score among those of a few cells: for each of the rows listed, the cells that any row of its
// group visits. Groups have 24 rows, a multiple of every tile height, so that they are the same for all of them. A task
// is a few groups, which meet a panel one after the other while it is in the first cache.
// IN x, points, cells, visits; OUT ids, scores (n_rows x m, of the rows listed): ascending by score; -1 and infinite
// where there are too few.
template <class Isa, class T>
void nearest_in_cells(const DenseRows<T>& x, const Centers<T>& points, const Cells& cells, const CellVisits& visits,
                      Index m, std::int32_t* ids, T* scores, int n_threads) {
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kGroup = 24, kGroups = 4, kRows = kGroup * kGroups;
    static_assert(kGroup % H == 0);
    const Panels<T> panels = pack<DenseRows<T>>(points, cells.order, cells.n_slots, n_threads);
    const Index capacity = Shortlist<Isa, T>::capacity(m);
    struct Scratch {
        Marks met;
        Buffer<std::uint8_t> groups;  // which groups visit a cell that was met, as bits
        Buffer<T> scores;
        Buffer<std::int32_t> ids;
    };
    const auto make_scratch = [&] {
        return Scratch{Marks(cells.n_cells), Buffer<std::uint8_t>(cells.n_cells), Buffer<T>(kRows * capacity),
                       Buffer<std::int32_t>(kRows * capacity)};
    };
    parallel_for(ceil_div(visits.n_listed, kRows), n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        const Index* const rows = visits.row_order + task * kRows;
        const Index n_rows = min_index(kRows, visits.n_listed - task * kRows);
        scratch.met.clear();
        for (Index r = 0; r < n_rows; ++r)
            for (Index v = 0; v < visits.n_visits; ++v) {
                bool is_new;
                const Index place = scratch.met.add(visits.cells[rows[r] * visits.n_visits + v], is_new);
                std::uint8_t& groups = scratch.groups[place];
                groups = static_cast<std::uint8_t>((is_new ? 0 : groups) | 1 << r / kGroup);
            }
        Shortlist<Isa, T> lists[kRows];
        for (Index r = 0; r < n_rows; ++r)
            lists[r] = {scratch.scores.data() + r * capacity, scratch.ids.data() + r * capacity, m};
        for (Index i = 0; i < scratch.met.size; ++i)
            for (Index p = cells.panel_starts[scratch.met.ids[i]]; p < cells.panel_starts[scratch.met.ids[i] + 1]; ++p)
                for (Index first = 0; first < n_rows; first += H) {
                    if ((scratch.groups[i] >> first / kGroup & 1) == 0) continue;
                    const Index n = min_index(H, n_rows - first);
                    alignas(64) T tile[H * W];
                    score_rows<Isa>(x, rows + first, n, panels, p, tile);
                    for (Index r = 0; r < n; ++r)
                        lists[first + r].add_lanes(tile + r * W, [&](int lane) { return panels.panel_ids(p)[lane]; });
                }
        for (Index r = 0; r < n_rows; ++r) lists[r].finish(scores + rows[r] * m, ids + rows[r] * m);
    });
}

}  // namespace
}  // namespace coterie
