// Nearest neighbours by products with the points of a few cells.
#pragma once

#include "coterie/centers/scores.hpp"
#include "coterie/centers/sorted_lists.hpp"
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
// group visits. Groups have 24 rows, a multiple of every tile height, so that they are the same for all of them.
// IN x, points, cells, visits; OUT ids, scores (n_rows x m, of the rows listed): ascending by score; -1 and infinite
// where there are too few.
template <class Isa, class T>
void nearest_in_cells(const DenseRows<T>& x, const Centers<T>& points, const Cells& cells, const CellVisits& visits,
                      Index m, std::int32_t* ids, T* scores, int n_threads) {
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kGroup = 24;
    static_assert(kGroup % H == 0);
    const Panels<T> panels = pack<DenseRows<T>>(points, cells.order, cells.n_slots, n_threads);
    const auto make_scratch = [&] { return Marks(cells.n_cells); };
    parallel_for(ceil_div(visits.n_listed, kGroup), n_threads, make_scratch, [&](Index task, Marks& met) {
        const Index* const group = visits.row_order + task * kGroup;
        const Index n_rows = min_index(kGroup, visits.n_listed - task * kGroup);
        met.clear();
        for (Index r = 0; r < n_rows; ++r) {
            const std::int32_t* const visited = visits.cells + group[r] * visits.n_visits;
            met.add_all(visits.n_visits, [=](Index i) { return visited[i]; });
            for (Index e = group[r] * m; e < (group[r] + 1) * m; ++e) {
                scores[e] = infinity<T>();
                ids[e] = -1;
            }
        }
        for (Index i = 0; i < met.size; ++i)
            for (Index first = 0; first < n_rows; first += H) {
                const Index* const which = group + first;
                const Index n = min_index(H, n_rows - first);
                const auto insert = [&](Index p, const T* tile) {
                    for (Index r = 0; r < n; ++r)
                        insert_lanes<Isa>(
                            tile + r * W, [&](int lane) { return panels.panel_ids(p)[lane]; }, m,
                            scores + which[r] * m, ids + which[r] * m);
                };
                const Index* const starts = cells.panel_starts + met.ids[i];
                score_panels<Isa>(x, which, n, panels, starts[0], starts[1], insert);
            }
    });
}

}  // namespace
}  // namespace coterie
