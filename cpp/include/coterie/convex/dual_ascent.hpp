// Coordinate ascent of the dual: each edge's dual is maximized for the current ones of all others, one after the other.
#pragma once

#include "coterie/convex/dual_sweep.hpp"
#include "coterie/machine/buffer.hpp"

namespace coterie {
namespace {

// Fetches a row of the points before it is needed.
template <class T>
inline void prefetch_point(const T* row, Index p) {
    for (Index j = 0; j < p; j += kLanes<T>) __builtin_prefetch(row + j);
}

// y = dual + momentum (dual - out), then out = y - (head - tail) / 2; returns the sum of the squares of out.
template <class T>
inline T ascend(const T* __restrict dual, T momentum, const T* __restrict head, const T* __restrict tail, Index p,
                T* __restrict y, T* __restrict out) {
    const auto at = [=](Index j) {
        y[j] = dual[j] + momentum * (dual[j] - out[j]);
        out[j] = y[j] - T(0.5) * (head[j] - tail[j]);
        return out[j] * out[j];
    };
    T lanes[kLanes<T>] = {};
    Index j = 0;
    for (; j + kLanes<T> <= p; j += kLanes<T>)
        for (Index l = 0; l < kLanes<T>; ++l) lanes[l] += at(j + l);
    for (Index l = 0; j < p; ++j, ++l) lanes[l] += at(j);
    return sum_of_lanes<T>(lanes);
}

// out becomes scale * out; the ends follow the change of the dual since y.
template <class T>
inline void follow(const T* __restrict y, T scale, Index p, T* __restrict out, T* __restrict head, T* __restrict tail) {
    for (Index j = 0; j < p; ++j) {
        const T value = scale * out[j], change = value - y[j];
        out[j] = value;
        head[j] += change;
        tail[j] -= change;
    }
}

// Each dual, ahead by the momentum, becomes P(y - (u_head - u_tail) / 2), the maximum over it, and its ends follow.
// For the Euclidean norm of all columns.
// IN/OUT ahead (n_nodes x n_columns): the points of the duals ahead, then those of the new duals. OUT next: the points
// ahead of these by the next momentum, relative to `points.current`; squares: as of `primal_points`.
template <class Isa, class T>
void dual_ascent(const FusionEdges<T>& edges, const DualStep<T>& step, const PrimalPoints<T>& points, Index p,
                 double* squares, int n_threads) {
    Buffer<T> start(p);
    T* const y = start.data();
    for (Index e = 0; e < edges.n_edges; ++e) {
        if (e + 1 < edges.n_edges) prefetch_point(points.ahead + edges.tails[e + 1] * p, p);
        T* const head = points.ahead + edges.heads[e] * p;
        T* const tail = points.ahead + edges.tails[e] * p;
        const T* const dual = step.duals + e * p;
        T* const out = step.former + e * p;
        const T square = ascend(dual, step.momentum, head, tail, p, y, out), radius = step.gamma * edges.weights[e];
        follow(y, square > radius * radius ? radius / square_root(square) : T(1), p, out, head, tail);
    }
    parallel_for(ceil_div(edges.n_nodes, kQuantum), n_threads, [&](Index q) {
        const Index begin = q * kQuantum * p, end = min_index(edges.n_nodes, (q + 1) * kQuantum) * p;
        for (Index k = begin; k < end; ++k)
            points.next[k] = points.ahead[k] + points.momentum * (points.ahead[k] - points.current[k]);
        squares[q] = energy_of(points.ahead + begin, end - begin);
    });
}

}  // namespace
}  // namespace coterie
