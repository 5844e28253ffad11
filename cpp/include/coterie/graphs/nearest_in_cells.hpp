// Nearest neighbors by products with the points of a few cells.
#pragma once

#include <algorithm>

#include "coterie/centers/scores.hpp"
#include "coterie/graphs/shortlist.hpp"
#include "coterie/machine/marks.hpp"

namespace coterie {

// Points sorted into cells; each cell fills whole panels.
struct Cells {
    const std::int32_t* order;   // n_slots: the point in the slot, -1 for none
    const Index* panel_starts;   // n_cells + 1: the panels of each cell
    Index n_slots;
    Index n_cells;
};

// Rows, and the cells that each row visits.
struct CellVisits {
    const Index* row_order;      // n_listed: consecutive rows, which visit similar cells, share a group
    const std::int32_t* cells;   // n_rows x n_visits
    Index n_listed;
    Index n_visits;
    bool are_shared;  // whether each row of a group visits the cells of all
};

namespace {

// The points of lowest score in a few cells, for each listed row: the cells that any row of a group of 24 consecutive
// rows visits, or only its own. In the latter case the result does not depend on other rows, as its cells are searched
// in ascending order. A task is a few groups: a panel is compared with all rows that need it while it is in the L1
// cache. IN x, points, cells, visits; OUT ids, scores (n_rows x m, of the rows listed): ascending by score; -1 and
// infinite where there are too few.
template <class Isa, class T>
void nearest_in_cells(const DenseRows<T>& x, const Centers<T>& points, const Cells& cells, const CellVisits& visits,
                      Index m, std::int32_t* ids, T* scores, int n_threads) {
    constexpr Index W = kLanes<T>, H = Isa::kTileHeight, kGroup = 24, kGroups = 4, kRows = kGroup * kGroups;
    const Panels<T> panels = pack<DenseRows<T>>(points, cells.order, cells.n_slots, n_threads);
    const Index capacity = Shortlist<Isa, T>::capacity(m);
    struct Scratch {
        Marks met;
        Buffer<std::uint8_t> wanted;  // n_cells x kRows: whether a row visits a cell of the group
        Buffer<T> scores;
        Buffer<std::int32_t> ids;
    };
    const auto make_scratch = [&] {
        return Scratch{Marks(cells.n_cells), Buffer<std::uint8_t>(cells.n_cells * kRows), Buffer<T>(kRows * capacity),
                       Buffer<std::int32_t>(kRows * capacity)};
    };
    parallel_for(ceil_div(visits.n_listed, kRows), n_threads, make_scratch, [&](Index task, Scratch& scratch) {
        const Index* const rows = visits.row_order + task * kRows;
        const Index n_rows = min_index(kRows, visits.n_listed - task * kRows);
        scratch.met.clear();
        for (Index r = 0; r < n_rows; ++r) {
            const Index first = visits.are_shared ? r / kGroup * kGroup : r;
            const Index end = visits.are_shared ? min_index(first + kGroup, n_rows) : r + 1;
            for (Index v = 0; v < visits.n_visits; ++v) {
                bool is_new;
                const Index place = scratch.met.add(visits.cells[rows[r] * visits.n_visits + v], is_new);
                std::uint8_t* const wanted = scratch.wanted.data() + place * kRows;
                if (is_new) std::fill(wanted, wanted + kRows, std::uint8_t{0});
                std::fill(wanted + first, wanted + end, std::uint8_t{1});
            }
        }
        if (!visits.are_shared) std::sort(scratch.met.ids.data(), scratch.met.ids.data() + scratch.met.size);
        Shortlist<Isa, T> lists[kRows];
        for (Index r = 0; r < n_rows; ++r)
            lists[r] = {scratch.scores.data() + r * capacity, scratch.ids.data() + r * capacity, m};
        for (Index i = 0; i < scratch.met.size; ++i) {
            const Index cell = scratch.met.ids[i];
            const std::uint8_t* const wanted = scratch.wanted.data() + scratch.met.places[cell] * kRows;
            Index asking[kRows], looking[kRows], n_asking = 0;
            for (Index r = 0; r < n_rows; ++r) {
                asking[n_asking] = r;
                looking[n_asking] = rows[r];
                n_asking += wanted[r];
            }
            for (Index p = cells.panel_starts[cell]; p < cells.panel_starts[cell + 1]; ++p)
                for (Index first = 0; first < n_asking; first += H) {
                    const Index n = min_index(H, n_asking - first);
                    alignas(64) T tile[H * W];
                    score_rows<Isa>(x, looking + first, n, panels, p, tile);
                    for (Index r = 0; r < n; ++r)
                        lists[asking[first + r]].add_lanes(tile + r * W,
                                                           [&](int lane) { return panels.panel_ids(p)[lane]; });
                }
        }
        for (Index r = 0; r < n_rows; ++r) lists[r].finish(scores + rows[r] * m, ids + rows[r] * m);
    });
}

}  // namespace
}  // namespace coterie
