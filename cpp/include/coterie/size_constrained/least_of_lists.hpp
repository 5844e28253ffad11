// Lists of near centroids: the one of least score plus dual variable of its cluster for each row, and the margin.
#pragma once

#include "coterie/machine/numbers.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

// IN ids, scores (n x m, m >= 1), duals; OUT per row the centroid with the least score plus dual (ties: the first of
// the list) and its value, the second one, and the difference of their values (the same id and infinity if m = 1).
template <class Isa, class T>
void least_of_lists(const std::int32_t* ids, const T* scores, Index n, Index m, const double* duals, std::int32_t* labels,
                 double* values, std::int32_t* seconds, double* margins, int n_threads) {
    constexpr Index kChunk = 8192;
    parallel_for(ceil_div(n, kChunk), n_threads, [&](Index task) {
        for (Index i = task * kChunk; i < min_index(n, (task + 1) * kChunk); ++i) {
            double best = infinity<double>(), next = infinity<double>();
            std::int32_t label = ids[i * m], second = label;
            for (Index e = i * m; e < (i + 1) * m; ++e) {
                const double value = static_cast<double>(scores[e]) + duals[ids[e]];
                if (value < best) {
                    next = best;
                    second = label;
                    best = value;
                    label = ids[e];
                } else if (value < next) {
                    next = value;
                    second = ids[e];
                }
            }
            labels[i] = label;
            values[i] = best;
            seconds[i] = second;
            margins[i] = next - best;
        }
    });
}

}  // namespace
}  // namespace coterie
