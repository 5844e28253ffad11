// Distances of the ends of edges: the penalty, its gap to the dual bound, and the lengths of the split differences.
#pragma once

#include "coterie/convex/problem.hpp"
#include "coterie/machine/buffer.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

template <class T>
struct Penalized {
    T gamma;
    const T* points;  // n_nodes x n_columns
    const T* duals;   // n_edges x n_columns, or nullptr
};

// Sums of w ||u_head - u_tail||, and of gamma w ||v|| + <lambda, v> where that is positive.
template <class T, Index P>
void short_penalty(const FusionEdges<T>& edges, const Penalized<T>& what, Index begin, Index end, double* sums) {
    using Row = ShortRow<T, P>;
    double penalty[kShortEdges] = {}, slack[kShortEdges] = {};
    for (Index first = begin; first < end; first += kShortEdges) {
        const Index n = min_index(kShortEdges, end - first);
        T squares[kShortEdges] = {}, products[kShortEdges] = {};
        for (Index l = 0; l < n; ++l) {
            const Index e = first + l;
            const auto v = Row::load(what.points, edges.heads[e]) - Row::load(what.points, edges.tails[e]);
            squares[l] = Row::sum(v * v);
            if (what.duals != nullptr) products[l] = Row::sum(v * Row::load(what.duals, e));
        }
        for (Index l = 0; l < n; ++l) {
            const T weighted = edges.weights[first + l] * square_root(squares[l]);
            const T missing = what.gamma * weighted + products[l];
            penalty[l] += static_cast<double>(weighted);
            slack[l] += static_cast<double>(missing > 0 ? missing : T(0));
        }
    }
    sums[0] = sums[1] = 0;
    for (Index l = 0; l < kShortEdges; ++l) {
        sums[0] += penalty[l];
        sums[1] += slack[l];
    }
}

template <class T>
void long_penalty(const FusionEdges<T>& edges, const FusionNorm& norm, const Penalized<T>& what, Index begin, Index end,
                  T* difference, double* sums) {
    const Index p = norm.n_columns;
    for (Index g = 0; g <= norm.n_groups; ++g) sums[g] = 0;
    for (Index e = begin; e < end; ++e) {
        const T* const head = what.points + edges.heads[e] * p;
        const T* const tail = what.points + edges.tails[e] * p;
        for (Index j = 0; j < p; ++j) difference[j] = head[j] - tail[j];
        T total = 0;
        for (Index g = 0; g < norm.n_groups; ++g) {
            const T length = norm_of_group(norm, g, difference);
            sums[g] += static_cast<double>(edges.weights[e] * length);
            total += length;
        }
        if (what.duals == nullptr || total == 0) continue;
        const T missing = what.gamma * edges.weights[e] * total + dot_product(what.duals + e * p, difference, p);
        if (missing > 0) sums[norm.n_groups] += static_cast<double>(missing);
    }
}

// OUT sums (n_groups + 1 for each task of edges): of w ||u_head - u_tail|| in each group, and, if there are duals, of
// gamma w ||v|| + <lambda, v>: what is missing to equality in the bound, never negative.
template <class Isa, class T>
void fusion_penalty(const FusionEdges<T>& edges, const FusionNorm& norm, T gamma, const T* points, const T* duals,
                    double* sums, int n_threads) {
    const Index size = edges_per_task(norm.n_columns);
    const Penalized<T> what{gamma, points, duals};
    const auto make_scratch = [&] { return Buffer<T>(norm.n_columns); };
    parallel_for(ceil_div(edges.n_edges, size), n_threads, make_scratch, [&](Index task, Buffer<T>& difference) {
        const Index begin = task * size, end = min_index(edges.n_edges, begin + size);
        double* const sum = sums + task * (norm.n_groups + 1);
        const auto short_sums = [&]<Index P>() { short_penalty<T, P>(edges, what, begin, end, sum); };
        if (!with_short_rows(norm, short_sums)) long_penalty(edges, norm, what, begin, end, difference.data(), sum);
    });
}

template <class T, Index P>
void short_lengths(const FusionEdges<T>& edges, const Penalized<T>& what, Index begin, Index end, T* lengths) {
    using Row = ShortRow<T, P>;
    for (Index e = begin; e < end; ++e) {
        const auto v = Row::load(what.points, edges.heads[e]) - Row::load(what.points, edges.tails[e]);
        const auto target = Row::load(what.duals, e) - v * edges.steps[e];
        lengths[e] = Row::sum(target * target);
    }
    for (Index e = begin; e < end; ++e) {
        const T rest = square_root(lengths[e]) - what.gamma * edges.weights[e];
        lengths[e] = rest > 0 ? rest / edges.steps[e] : T(0);
    }
}

template <class T>
void long_lengths(const FusionEdges<T>& edges, const FusionNorm& norm, const Penalized<T>& what, Index begin, Index end,
                  T* target, T* lengths) {
    const Index p = norm.n_columns;
    for (Index e = begin; e < end; ++e) {
        const T* const head = what.points + edges.heads[e] * p;
        const T* const tail = what.points + edges.tails[e] * p;
        const T step = edges.steps[e], radius = what.gamma * edges.weights[e];
        for (Index j = 0; j < p; ++j) target[j] = what.duals[e * p + j] - step * (head[j] - tail[j]);
        if (norm.is_maximum) {
            lengths[e] = ball_threshold(target, p, radius) / step;
            continue;
        }
        for (Index g = 0; g < norm.n_groups; ++g) {
            const T rest = norm_of_group(norm, g, target) - radius;
            lengths[g * edges.n_edges + e] = rest > 0 ? rest / step : T(0);
        }
    }
}

// OUT lengths (n_groups x n_edges): of the differences V that belong to the duals (Eq. 3.11); 0 where the ends are
// fused.
template <class Isa, class T>
void split_lengths(const FusionEdges<T>& edges, const FusionNorm& norm, T gamma, const T* points, const T* duals,
                   T* lengths, int n_threads) {
    const Index size = edges_per_task(norm.n_columns);
    const Penalized<T> what{gamma, points, duals};
    const auto make_scratch = [&] { return Buffer<T>(norm.n_columns); };
    parallel_for(ceil_div(edges.n_edges, size), n_threads, make_scratch, [&](Index task, Buffer<T>& target) {
        const Index begin = task * size, end = min_index(edges.n_edges, begin + size);
        const auto short_ones = [&]<Index P>() { short_lengths<T, P>(edges, what, begin, end, lengths); };
        if (!with_short_rows(norm, short_ones)) long_lengths(edges, norm, what, begin, end, target.data(), lengths);
    });
}

}  // namespace
}  // namespace coterie
