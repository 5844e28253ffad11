// Merges of rows along edges of ascending weight, and the tree that they make.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

// Sets of rows that are joined, each known by one of its rows.
class JoinedRows {
   public:
    explicit JoinedRows(Index n_rows) : above_(n_rows) {
        for (Index i = 0; i < n_rows; ++i) above_[i] = static_cast<std::int32_t>(i);
    }

    std::int32_t root(std::int32_t i) {
        while (above_[i] != i) {
            above_[i] = above_[above_[i]];
            i = above_[i];
        }
        return i;
    }
    void put_under(std::int32_t root, std::int32_t other) { above_[root] = other; }

   private:
    Buffer<std::int32_t> above_;
};

// Kruskal's algorithm, but for edges that are not certified. Edges that are not known weigh at least bounds[i] at each
// end i, so an edge is in a minimum spanning tree if it weighs no more than the least bound of the rows on one side:
// then it is the lightest that leaves this side. Bounds only fall as sides grow, so an edge that fails once always
// fails, and one pass is enough. IN firsts, seconds, weights (n_edges), ascending by weight; IN/OUT groups (n_rows):
// the joined rows, named by one row of each; OUT joined (n_rows - 1): numbers of the edges. Returns how many edges.
inline Index join_certified(const std::int32_t* firsts, const std::int32_t* seconds, const double* weights,
                            Index n_edges, const double* bounds, Index n_rows, std::int32_t* groups, Index* joined) {
    JoinedRows sets(n_rows);
    Buffer<double> least(n_rows);
    for (Index i = 0; i < n_rows; ++i) least[i] = bounds[i];
    for (Index i = 0; i < n_rows; ++i) {
        const std::int32_t name = groups[i];
        if (bounds[i] < least[name]) least[name] = bounds[i];
        if (name != i) sets.put_under(static_cast<std::int32_t>(i), name);
    }
    Index n_joined = 0;
    for (Index e = 0; e < n_edges && n_joined < n_rows - 1; ++e) {
        const std::int32_t a = sets.root(firsts[e]), b = sets.root(seconds[e]);
        if (a == b || (weights[e] > least[a] && weights[e] > least[b])) continue;
        const std::int32_t kept = a < b ? a : b, other = a < b ? b : a;
        sets.put_under(other, kept);
        if (least[other] < least[kept]) least[kept] = least[other];
        joined[n_joined++] = e;
    }
    for (Index i = 0; i < n_rows; ++i) groups[i] = sets.root(static_cast<std::int32_t>(i));
    return n_joined;
}

// The single-linkage tree of the edges of a spanning tree. All merges at equal height that touch are one node with
// several sides, so that the order of equal edges does not matter. Rows are nodes 0 .. n_rows - 1, merges follow by
// ascending height, the root is last.
// IN firsts, seconds, heights (n_rows - 1), ascending by height; OUT parents (2 n_rows - 1; the root is its own), sizes,
// seconds_largest (2 n_rows - 1): the size of the second largest side of a merge, 0 for rows; node_heights (2 n_rows -
// 1): 0 for rows. Returns the number of nodes.
inline Index merge_tree(const std::int32_t* firsts, const std::int32_t* seconds, const double* heights, Index n_rows,
                        std::int32_t* parents, std::int32_t* sizes, std::int32_t* second_largest,
                        double* node_heights) {
    const Index most = 2 * n_rows - 1;
    JoinedRows sets(n_rows);
    Buffer<std::int32_t> node_of(n_rows), kept(most);
    for (Index i = 0; i < most; ++i) {
        parents[i] = kept[i] = static_cast<std::int32_t>(i);
        sizes[i] = i < n_rows;
        second_largest[i] = 0;
        node_heights[i] = 0;
        if (i < n_rows) node_of[i] = static_cast<std::int32_t>(i);
    }
    Index n_nodes = n_rows;
    for (Index e = 0; e < n_rows - 1; ++e) {
        const double height = heights[e];
        const std::int32_t a = sets.root(firsts[e]), b = sets.root(seconds[e]);
        std::int32_t one = node_of[a], other = node_of[b];
        const auto is_here = [&](std::int32_t node) { return node >= n_rows && node_heights[node] == height; };
        if (!is_here(one)) {
            const std::int32_t spare = one;
            one = other;
            other = spare;
        }
        std::int32_t node = one;
        if (!is_here(one)) {
            node = static_cast<std::int32_t>(n_nodes++);
            node_heights[node] = height;
            parents[one] = node;
            sizes[node] = sizes[one];
        }
        if (is_here(other)) kept[other] = node;  // its sides become those of the node
        else parents[other] = node;
        sizes[node] += sizes[other];
        sets.put_under(b, a);
        node_of[a] = node;
    }
    // Nodes that were merged into others are left out; a side is always below its merge.
    Buffer<std::int32_t> places(most);
    Index n_left = 0;
    for (Index i = 0; i < n_nodes; ++i) {
        if (kept[i] != i) continue;
        places[i] = static_cast<std::int32_t>(n_left);
        sizes[n_left] = sizes[i];
        node_heights[n_left] = node_heights[i];
        parents[n_left++] = parents[i];
    }
    for (Index i = 0; i < n_left; ++i) {
        std::int32_t parent = parents[i];
        while (kept[parent] != parent) parent = kept[parent];
        parents[i] = places[parent];
    }
    Buffer<std::int32_t> largest(most);
    for (Index i = 0; i < n_left; ++i) largest[i] = second_largest[i] = 0;
    for (Index i = 0; i < n_left - 1; ++i) {
        const std::int32_t parent = parents[i];
        if (sizes[i] > largest[parent]) {
            second_largest[parent] = largest[parent];
            largest[parent] = sizes[i];
        } else if (sizes[i] > second_largest[parent]) second_largest[parent] = sizes[i];
    }
    return n_left;
}

// OUT largest (n_nodes): the largest of the values of each node and all below it. Sides have lower numbers than merges.
inline void largest_below(const std::int32_t* parents, const std::int32_t* values, Index n_nodes,
                          std::int32_t* largest) {
    for (Index i = 0; i < n_nodes; ++i) largest[i] = values[i];
    for (Index i = 0; i < n_nodes; ++i)
        if (largest[i] > largest[parents[i]]) largest[parents[i]] = largest[i];
}

// OUT found (n_nodes): the nearest marked node among each node and its ancestors, -1 if there is none.
inline void nearest_marked(const std::int32_t* parents, const std::uint8_t* is_marked, Index n_nodes,
                           std::int32_t* found) {
    for (Index i = n_nodes - 1; i >= 0; --i)
        found[i] = is_marked[i] ? static_cast<std::int32_t>(i) : parents[i] == i ? -1 : found[parents[i]];
}

}  // namespace
}  // namespace coterie
