// Spanning trees of graphs: Kruskal's algorithm over sorted edges, and the order of a tree's nodes from its root.
#pragma once

#include "coterie/machine/buffer.hpp"

namespace coterie {
namespace {

inline std::int32_t set_of(std::int32_t* sets, std::int32_t node) {
    while (sets[node] != node) node = sets[node] = sets[sets[node]];
    return node;
}

// Kruskal's algorithm, but for edges that are not certified. Edges that are not known weigh at least bounds[i] at each
// end i, so an edge is in a minimum spanning tree if it weighs no more than the least bound of the rows on one side:
// then it is the lightest that leaves this side. Bounds only fall as sides grow, so an edge that fails once always
// fails, and one pass is enough.
// IN firsts, seconds, weights (n_edges), ascending by weight; IN/OUT sets (n_rows): the joined rows, named by one row
// of each; OUT joined (n_rows - 1): numbers of the edges. Returns how many edges.
inline Index join_certified(const std::int32_t* firsts, const std::int32_t* seconds, const double* weights,
                            Index n_edges, const double* bounds, Index n_rows, std::int32_t* sets, Index* joined) {
    Buffer<double> least(n_rows);
    for (Index i = 0; i < n_rows; ++i) least[i] = bounds[i];
    for (Index i = 0; i < n_rows; ++i)
        if (bounds[i] < least[sets[i]]) least[sets[i]] = bounds[i];
    Index n_joined = 0;
    for (Index e = 0; e < n_edges && n_joined < n_rows - 1; ++e) {
        const std::int32_t a = set_of(sets, firsts[e]), b = set_of(sets, seconds[e]);
        if (a == b || (weights[e] > least[a] && weights[e] > least[b])) continue;
        const std::int32_t kept = a < b ? a : b, other = a < b ? b : a;
        sets[other] = kept;
        if (least[other] < least[kept]) least[kept] = least[other];
        joined[n_joined++] = e;
    }
    for (Index i = 0; i < n_rows; ++i) sets[i] = set_of(sets, static_cast<std::int32_t>(i));
    return n_joined;
}

// Writes the merges of a tree's edges, in their order, as SciPy has them: two clusters, the height, the rows of both.
// IN firsts, seconds, heights (n - 1); OUT linkage (n - 1 x 4). Returns false if the edges are no tree.
inline bool linkage_of_edges(const std::int32_t* firsts, const std::int32_t* seconds, const double* heights, Index n,
                             double* linkage) {
    Buffer<std::int32_t> sets(n), names(n), sizes(n);
    for (Index i = 0; i < n; ++i) {
        sets[i] = names[i] = static_cast<std::int32_t>(i);
        sizes[i] = 1;
    }
    for (Index e = 0; e < n - 1; ++e) {
        const std::int32_t a = set_of(sets.data(), firsts[e]), b = set_of(sets.data(), seconds[e]);
        if (a == b) return false;
        const std::int32_t top = sizes[a] < sizes[b] ? b : a, other = top == a ? b : a;
        double* const merge = linkage + 4 * e;
        merge[0] = names[a] < names[b] ? names[a] : names[b];
        merge[1] = names[a] < names[b] ? names[b] : names[a];
        sets[other] = top;
        sizes[top] += sizes[other];
        names[top] = static_cast<std::int32_t>(n + e);
        merge[2] = heights[e];
        merge[3] = sizes[top];
    }
    return true;
}

// Orders the nodes of a tree depth first from node 0, so that parents come before children and subtrees lie together.
// IN firsts, seconds (n_nodes - 1); OUT order (n_nodes); parents (n_nodes), places in the order, 0 of the root; edges
// (n_nodes), the edge to the parent, 0 of the root. Returns false if the edges are no tree.
inline bool root_tree(const std::int32_t* firsts, const std::int32_t* seconds, Index n_nodes, std::int32_t* order,
                      std::int32_t* parents, std::int32_t* edges) {
    Buffer<std::int32_t> starts(n_nodes + 1), ends(2 * n_nodes), numbers(2 * n_nodes), places(n_nodes);
    Buffer<std::int32_t> stack(n_nodes), stack_edges(n_nodes), stack_parents(n_nodes);
    starts.fill(0);
    places.fill(-1);
    for (Index e = 0; e < n_nodes - 1; ++e) {
        ++starts[firsts[e] + 1];
        ++starts[seconds[e] + 1];
    }
    for (Index i = 0; i < n_nodes; ++i) starts[i + 1] += starts[i];
    Buffer<std::int32_t> next(n_nodes);
    for (Index i = 0; i < n_nodes; ++i) next[i] = starts[i];
    for (Index e = 0; e < n_nodes - 1; ++e) {
        const std::int32_t a = next[firsts[e]]++, b = next[seconds[e]]++;
        ends[a] = seconds[e];
        ends[b] = firsts[e];
        numbers[a] = numbers[b] = static_cast<std::int32_t>(e);
    }
    Index n_waiting = 1;
    std::int32_t n_placed = 0;
    stack[0] = stack_edges[0] = stack_parents[0] = 0;
    while (n_waiting > 0) {
        const std::int32_t node = stack[--n_waiting], place = n_placed++;
        order[place] = node;
        places[node] = place;
        parents[place] = stack_parents[n_waiting];
        edges[place] = stack_edges[n_waiting];
        for (std::int32_t a = starts[node + 1] - 1; a >= starts[node]; --a) {
            if (places[ends[a]] >= 0) continue;
            if (n_waiting == n_nodes) return false;
            stack[n_waiting] = ends[a];
            stack_edges[n_waiting] = numbers[a];
            stack_parents[n_waiting++] = place;
        }
        if (n_placed == n_nodes) break;
    }
    return n_placed == n_nodes && n_waiting == 0;
}

}  // namespace
}  // namespace coterie
