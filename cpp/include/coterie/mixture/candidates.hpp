// Which components a row knows: gathered for a tile of rows, and the best of them kept for each.
#pragma once

#include "coterie/centers/sorted_lists.hpp"
#include "coterie/machine/marks.hpp"

namespace coterie {

template <class T>
struct TruncatedSearch {
    std::int32_t* candidates;   // IN/OUT n_rows x n_candidates: components of each row, the best one first
    T* energies;                // OUT the same shape, ascending
    Index n_candidates;
    std::int32_t* neighbors;    // IN/OUT n_components x n_neighbors: each begins with the component itself
    Index n_neighbors;
    const std::int32_t* extra;  // one more component to try for each row, or nullptr
    Index rows_per_tile;        // how many rows look among each other's candidates
    bool update_neighbors;
    bool regroup;               // learn neighbors from rows grouped by what they have found, not by what they had
};

namespace {

// Gathers the candidates of a tile: neighbours of what its rows know, neighbours of the best ones first.
template <class T>
void gather_candidates(const TruncatedSearch<T>& search, const Index* rows, Index n, Marks& met, Marks& expanded) {
    met.clear();
    expanded.clear();
    for (Index k = 0; k < search.n_candidates; ++k)
        expanded.add_all(n, [&](Index r) { return search.candidates[rows[r] * search.n_candidates + k]; });
    for (Index i = 0; i < expanded.size; ++i) {
        const std::int32_t* near = search.neighbors + expanded.ids[i] * search.n_neighbors;
        met.add_all(search.n_neighbors, [=](Index g) { return near[g]; });
    }
    if (search.extra != nullptr) met.add_all(n, [&](Index r) { return search.extra[rows[r]]; });
}

// Keeps the best of n energies of one row below the bound; ids[i] is the component of energies[i]. n fills panels.
// Returns whether there were enough.
template <class Isa, class T>
bool keep_below(const T* energies, const std::int32_t* ids, Index n, T bound, Index n_kept, std::int32_t* kept,
                T* kept_energies) {
    for (Index k = 0; k < n_kept; ++k) {
        kept_energies[k] = bound;
        kept[k] = -1;
    }
    for (Index first = 0; first < n; first += kLanes<T>) {
        unsigned lanes = Isa::below(energies + first, kept_energies[n_kept - 1]);
        for (; lanes != 0; lanes &= lanes - 1) {
            const Index i = first + __builtin_ctz(lanes);
            if (energies[i] < kept_energies[n_kept - 1]) insert_sorted(kept_energies, kept, n_kept, energies[i], ids[i]);
        }
    }
    return kept[n_kept - 1] >= 0;
}

// Replaces the candidates of one row by the best of what its tile has met; n fills panels.
template <class Isa, class T>
void keep_best(const T* energies, const Marks& met, Index n, Index n_kept, std::int32_t* kept, T* kept_energies) {
    // Nothing worse than the worst of the former candidates can be kept, unless one of them is a stand-in.
    T bound = -infinity<T>();
    for (Index k = 0; k < n_kept; ++k) {
        kept_energies[k] = k > 0 && kept[k] == kept[0] ? infinity<T>() : energies[met.places[kept[k]]];
        bound = kept_energies[k] > bound ? kept_energies[k] : bound;
    }
    bound += (bound < 0 ? -bound : bound) * epsilon<T>();
    Index n_below = 0;
    for (Index first = 0; first < n; first += kLanes<T>) n_below += __builtin_popcount(Isa::below(energies + first, bound));
    if (n_below == n_kept && bound < infinity<T>()) {
        // In most cases they are the same ones, in nearly the same order.
        for (Index k = 1; k < n_kept; ++k) insert_sorted(kept_energies, kept, k + 1, kept_energies[k], kept[k]);
        return;
    }
    const std::int32_t former = kept[0];
    if (keep_below<Isa>(energies, met.ids.data(), n, bound, n_kept, kept, kept_energies)) return;
    keep_below<Isa>(energies, met.ids.data(), n, infinity<T>(), n_kept, kept, kept_energies);
    // Where too few components can be chosen, the best one stands in, without a share.
    if (kept[0] < 0) kept[0] = former;
    for (Index k = 1; k < n_kept; ++k)
        if (kept[k] < 0) kept[k] = kept[0];
}

}  // namespace
}  // namespace coterie
