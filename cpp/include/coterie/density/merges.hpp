// The tree of merges of rows along edges of ascending weight.
#pragma once

#include "coterie/graphs/rooted_tree.hpp"
#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

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
    Buffer<std::int32_t> sets(n_rows), node_of(n_rows), kept(most);
    for (Index i = 0; i < most; ++i) {
        parents[i] = kept[i] = static_cast<std::int32_t>(i);
        sizes[i] = i < n_rows;
        second_largest[i] = 0;
        node_heights[i] = 0;
        if (i < n_rows) sets[i] = node_of[i] = static_cast<std::int32_t>(i);
    }
    Index n_nodes = n_rows;
    for (Index e = 0; e < n_rows - 1; ++e) {
        const double height = heights[e];
        const std::int32_t a = set_of(sets.data(), firsts[e]), b = set_of(sets.data(), seconds[e]);
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
        sets[b] = a;
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

}  // namespace
}  // namespace coterie
