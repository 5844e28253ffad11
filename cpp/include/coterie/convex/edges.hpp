// The edges of convex clustering (Chi and Lange 2015). Points and duals lie row by row.
#pragma once

#include "coterie/machine/numbers.hpp"

namespace coterie {

// Edges in ascending order of their heads: those of node i as head are head_starts[i] .. head_starts[i + 1] - 1, those
// as tail are tail_edges[tail_starts[i]] ..., in ascending order.
template <class T>
struct FusionEdges {
    const std::int32_t* heads;       // n_edges
    const std::int32_t* tails;
    const T* weights;
    const T* steps;                  // n_edges: step size of each edge's dual
    const Index* head_starts;        // n_nodes + 1
    const Index* tail_starts;        // n_nodes + 1
    const std::int32_t* tail_edges;  // n_edges
    Index n_edges;
    Index n_nodes;
};

namespace {

// Edges per task, by their size in memory: depends only on the number of columns.
inline Index edges_per_task(Index n_columns) {
    const Index n = 32768 / n_columns;
    return n < 128 ? 128 : (n > 4096 ? 4096 : n);
}

}  // namespace
}  // namespace coterie
