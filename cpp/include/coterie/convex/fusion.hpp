// Sets of fused nodes, and their means.
#pragma once

#include "coterie/convex/edges.hpp"
#include "coterie/machine/buffer.hpp"

namespace coterie {
namespace {

inline std::int32_t root_of(std::int32_t* parents, std::int32_t node) {
    while (parents[node] != node) {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    return node;
}

// Joins the sets of the ends of all edges whose length is in (low, high], and numbers the sets from 0 in the order of
// their lowest nodes; returns how many there are. A root is the lowest node of its set.
// IN edges, lengths (n_edges); IN/OUT parents (n_nodes); OUT labels (n_nodes).
template <class Isa, class T>
Index join_ends(const FusionEdges<T>& edges, const T* lengths, T low, T high, std::int32_t* parents,
                std::int32_t* labels) {
    for (Index e = 0; e < edges.n_edges; ++e) {
        if (!(lengths[e] > low && lengths[e] <= high)) continue;
        const std::int32_t a = root_of(parents, edges.heads[e]), b = root_of(parents, edges.tails[e]);
        if (a < b) parents[b] = a;
        else parents[a] = b;
    }
    std::int32_t n_sets = 0;
    for (Index i = 0; i < edges.n_nodes; ++i) {
        const std::int32_t root = root_of(parents, static_cast<std::int32_t>(i));
        labels[i] = root == i ? n_sets++ : labels[root];
    }
    return n_sets;
}

// Each node gets the mean of its set. IN points (n_nodes x n_columns), labels (n_nodes); OUT columns first .. last - 1 of
// means (n_nodes x n_columns).
template <class Isa, class T>
void set_means(const T* points, const std::int32_t* labels, Index n_sets, Index n_nodes, Index n_columns, Index first,
               Index last, T* means) {
    const Index width = last - first;
    Buffer<double> sums(n_sets * width), counts(n_sets);
    sums.fill(0);
    counts.fill(0);
    for (Index i = 0; i < n_nodes; ++i) {
        double* const sum = sums.data() + labels[i] * width;
        counts[labels[i]] += 1;
        for (Index j = 0; j < width; ++j) sum[j] += static_cast<double>(points[i * n_columns + first + j]);
    }
    for (Index s = 0; s < n_sets; ++s)
        for (Index j = 0; j < width; ++j) sums[s * width + j] /= counts[s];
    for (Index i = 0; i < n_nodes; ++i) {
        const double* const mean = sums.data() + labels[i] * width;
        for (Index j = 0; j < width; ++j) means[i * n_columns + first + j] = static_cast<T>(mean[j]);
    }
}

}  // namespace
}  // namespace coterie
