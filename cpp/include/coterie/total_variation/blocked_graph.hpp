// Graphs whose vertices are divided into blocks of consecutive rows.
#pragma once

#include "coterie/machine/numbers.hpp"

namespace coterie {

// An undirected graph. The edges of a row begin with those to later rows of its block; then come those to rows of other
// blocks, later ones first.
template <class T>
struct BlockedGraph {
    const Index* starts;          // n_rows + 1
    const Index* crossings;       // n_rows: where the edges to other blocks begin
    const std::int32_t* columns;
    const T* weights;             // or nullptr: 1
    Index n_rows;
    Index block_rows;

    Index n_blocks() const { return (n_rows + block_rows - 1) / block_rows; }
    Index block_end(Index b) const { return (b + 1) * block_rows < n_rows ? (b + 1) * block_rows : n_rows; }
};

}  // namespace coterie
