// A projected gradient step of the duals.
#pragma once

#include "coterie/convex/edges.hpp"
#include "coterie/convex/norms.hpp"
#include "coterie/convex/short_rows.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {

template <class T>
struct DualStep {
    T gamma;
    T momentum;
    const T* points;  // n_nodes x n_columns: U at the extrapolated duals
    const T* duals;   // n_edges x n_columns
    T* former;        // IN: the duals before; OUT: the duals after
};

namespace {

template <class T, Index P>
void short_dual_steps(const FusionEdges<T>& edges, const DualStep<T>& step, Index begin, Index end) {
    using Row = ShortRow<T, P>;
    for (Index first = begin; first < end; first += kShortEdges) {
        const Index n = min_index(kShortEdges, end - first);
        typename Row::Vector targets[kShortEdges];
        T squares[kShortEdges] = {}, scales[kShortEdges];
        for (Index l = 0; l < n; ++l) {
            const Index e = first + l;
            const auto dual = Row::load(step.duals, e), former = Row::load(step.former, e);
            const auto difference = Row::load(step.points, edges.heads[e]) - Row::load(step.points, edges.tails[e]);
            const auto target = dual + (dual - former) * step.momentum - difference * edges.steps[e];
            targets[l] = target;
            squares[l] = Row::sum(target * target);
        }
        // Within a cluster usually all duals are inside their balls, which saves roots and quotients.
        int n_outside = 0;
        for (Index l = 0; l < n; ++l) {
            const T radius = step.gamma * edges.weights[first + l];
            n_outside += squares[l] > radius * radius;
        }
        if (n_outside == 0) {
            for (Index l = 0; l < n; ++l) Row::store(step.former, first + l, targets[l]);
            continue;
        }
        for (Index l = 0; l < n; ++l) {
            const T radius = step.gamma * edges.weights[first + l];
            scales[l] = squares[l] > radius * radius ? radius / square_root(squares[l]) : T(1);
        }
        for (Index l = 0; l < n; ++l) Row::store(step.former, first + l, targets[l] * scales[l]);
    }
}

template <class T>
void long_dual_steps(const FusionEdges<T>& edges, const FusionNorm& norm, const DualStep<T>& step, Index begin,
                     Index end) {
    const Index p = norm.n_columns;
    for (Index e = begin; e < end; ++e) {
        const T* const head = step.points + edges.heads[e] * p;
        const T* const tail = step.points + edges.tails[e] * p;
        const T* const dual = step.duals + e * p;
        T* const out = step.former + e * p;
        const T size = edges.steps[e];
        for (Index j = 0; j < p; ++j) out[j] = dual[j] + step.momentum * (dual[j] - out[j]) - size * (head[j] - tail[j]);
        project(norm, out, step.gamma * edges.weights[e]);
    }
}

// One projected gradient step of all duals from the extrapolated ones: lambda <- P(y - nu (u_head - u_tail)).
template <class Isa, class T>
void dual_step(const FusionEdges<T>& edges, const FusionNorm& norm, const DualStep<T>& step, int n_threads) {
    const Index size = edges_per_task(norm.n_columns);
    parallel_for(ceil_div(edges.n_edges, size), n_threads, [&](Index task) {
        const Index begin = task * size, end = min_index(edges.n_edges, begin + size);
        const auto short_steps = [&]<Index P>() { short_dual_steps<T, P>(edges, step, begin, end); };
        if (!with_short_rows(norm, short_steps)) long_dual_steps(edges, norm, step, begin, end);
    });
}

}  // namespace
}  // namespace coterie
