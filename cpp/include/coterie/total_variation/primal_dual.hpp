// Multiclass total variation clustering (Bresson, Laurent, Uminsky and von Brecht 2013): the inner iteration of their
// Algorithm 1, a primal-dual step of Chambolle and Pock, with the diagonal preconditioning of Pock and Chambolle (2011):
// the step of a row is in inverse proportion to its degree, that of a dual to its weight and to Gamma. Weights drop out of
// the dual step then. The steps of the paper itself are the same for all rows and all duals of a column; weights do not
// drop out of those.
#pragma once

#include "coterie/machine/parallel.hpp"
#include "coterie/total_variation/dual_step.hpp"
#include "coterie/total_variation/primal_step.hpp"

namespace coterie {
namespace {

// Runs n_iterations inner iterations from the step size tau on; returns that of the next. `convexity`: how strongly convex
// the quadratic term is in the norm of the preconditioner, or less; tau falls the faster for it. At the end `extrapolated`
// holds F_bar again. OUT squares (n_blocks): squared distance of the memberships to the anchors.
template <class Isa, class T>
double iterate_primal_dual(const BlockedGraph<T>& graph, const PrimalDualState<T>& state, const OuterStep<T>& outer,
                           double tau, double convexity, Index n_iterations, double* squares, int n_threads) {
    const Index width = state.width;
    const auto make_scratch = [&] {
        return PrimalDualScratch<Isa, T>{Buffer<T>(graph.block_rows * width), Buffer<T>(kLanes<T> * width),
                                         Buffer<T>(state.n_columns * kLanes<T>), Buffer<T>(2 * kLanes<T>)};
    };
    const EdgeDualStepOfBlock<T> dual_step = dual_step_for<Isa, T>(state.n_columns);
    Buffer<T> steps(width);
    T *current = state.extrapolated, *next = state.spare;
    for (Index k = 0; k < n_iterations; ++k) {
        const double theta = 1 / __builtin_sqrt(1 + 2 * convexity * tau);
        for (Index r = 0; r < width; ++r) steps[r] = outer.dual_steps[r] / static_cast<T>(tau);
        const EdgeDualStep<T> dual{current, steps.data(), state.duals, state.n_columns, width,
                                   graph.starts[graph.n_rows] - 1, outer.steps_by_weight};
        const PrimalStep<T> primal{static_cast<T>(tau), static_cast<T>(theta), next};
        parallel_for(graph.n_blocks(), n_threads, make_scratch, [&](Index b, PrimalDualScratch<Isa, T>& scratch) {
            const Index first = b * graph.block_rows, last = graph.block_end(b);
            T* const divergences = scratch.divergences.data();
            dual_step(graph, dual, first, last, divergences);
            double square = 0;
            for (Index i = first; i < last; i += kLanes<T>)
                square += primal_step_of_rows<Isa>(state, outer, primal, i, min_index(kLanes<T>, last - i),
                                                   divergences + (i - first) * width, scratch);
            squares[b] = square;
        });
        tau *= theta;
        T* const former = current;
        current = next;
        next = former;
    }
    if (current != state.extrapolated)
        parallel_for(graph.n_blocks(), n_threads, [&](Index b) {
            const Index first = b * graph.block_rows * width, last = graph.block_end(b) * width;
            for (Index l = first; l < last; ++l) state.extrapolated[l] = current[l];
        });
    return tau;
}

}  // namespace
}  // namespace coterie
