// The components that the rows of a tile are compared with.
#pragma once

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
    Index group_size;        // number of rows that share their candidates
    bool update_neighbors;
    bool regroup;               // learn neighbors from rows grouped by their new best components
};

namespace {

// Components, each once.
struct ComponentList {
    ComponentList(Index most, Index n_components) : ids(most), places(n_components) {}

    void keep_distinct(Index n) { size = copy_distinct(ids.data(), n, places.data(), ids.data()); }

    Buffer<std::int32_t> ids;
    Buffer<std::int32_t> places;  // scratch
    Index size = 0;
};

// Gathers the candidates of a tile: neighbors of its rows' components, those of the best ones first.
template <class T>
void gather_candidates(const TruncatedSearch<T>& search, const Index* rows, Index n, ComponentList& met,
                       ComponentList& expanded) {
    const Index m = search.n_candidates, n_neighbors = search.n_neighbors;
    for (Index k = 0; k < m; ++k)
        for (Index r = 0; r < n; ++r) expanded.ids[k * n + r] = search.candidates[rows[r] * m + k];
    expanded.keep_distinct(n * m);
    std::int32_t* next = met.ids.data();
    for (Index i = 0; i < expanded.size; ++i) {
        const std::int32_t* const near = search.neighbors + expanded.ids[i] * n_neighbors;
        for (Index g = 0; g < n_neighbors; ++g) *next++ = near[g];
    }
    if (search.extra != nullptr)
        for (Index r = 0; r < n; ++r) *next++ = search.extra[rows[r]];
    met.keep_distinct(next - met.ids.data());
}

}  // namespace
}  // namespace coterie
