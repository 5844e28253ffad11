// Systems with the Laplacian of a graph of clusters: the Newton step for the dual variables of clusters (prices).
#pragma once

#include <cstdint>
#include <vector>

#include "coterie/machine/numbers.hpp"

namespace coterie {

// Adds the weights of pairs of clusters up, in compressed rows and both directions; those of one cluster count nothing.
// IN heads, tails, weights (n_pairs; nullptr: 1); OUT starts (n + 1), ends and sums (2 n_pairs). Returns how many there
// are. They are in the order of the pairs.
inline std::int32_t add_pairs(const std::int32_t* heads, const std::int32_t* tails, const double* weights, Index n_pairs,
                              Index n, std::int32_t* starts, std::int32_t* ends, double* sums) {
    struct Half {
        std::int32_t end;
        double weight;
    };
    std::vector<Index> first(n + 1, 0);
    for (Index i = 0; i < n_pairs; ++i)
        if (heads[i] != tails[i]) {
            ++first[heads[i] + 1];
            ++first[tails[i] + 1];
        }
    for (Index c = 0; c < n; ++c) first[c + 1] += first[c];
    std::vector<Half> halves(first[n]);
    std::vector<Index> filled(first.begin(), first.end() - 1);
    for (Index i = 0; i < n_pairs; ++i)
        if (heads[i] != tails[i]) {
            const double weight = weights == nullptr ? 1.0 : weights[i];
            halves[filled[heads[i]]++] = {tails[i], weight};
            halves[filled[tails[i]]++] = {heads[i], weight};
        }
    std::vector<std::int32_t> place(n, -1);  // of the sum of an end, if that is at starts[c] or later
    std::int32_t n_sums = 0;
    for (Index c = 0; c < n; ++c) {
        starts[c] = n_sums;
        for (Index e = first[c]; e < first[c + 1]; ++e) {
            const auto [end, weight] = halves[e];
            if (place[end] < starts[c]) {
                place[end] = n_sums;
                ends[n_sums] = end;
                sums[n_sums++] = 0.0;
            }
            sums[place[end]] += weight;
        }
    }
    starts[n] = n_sums;
    return n_sums;
}

// The matrix diag(diagonal) - weights, of which the weights are symmetric, in compressed rows, and 0 on the diagonal.
struct LaplacianMatrix {
    const std::int32_t* starts;  // n + 1
    const std::int32_t* ends;
    const double* weights;
    const double* diagonal;  // above 0
    Index n;
};

// Conjugate gradients scaled by the diagonal, from 0, for the free unknowns; others remain 0. Ends at the given
// fraction of the initial scaled squared residual, or after a maximum number of products. OUT solution (n). Sums are in
// order.
inline void solve_laplacian(const LaplacianMatrix& matrix, const std::uint8_t* is_free, const double* right, double part,
                            Index most_products, double* solution) {
    const Index n = matrix.n;
    std::vector<double> residual(n, 0.0), direction(n, 0.0), image(n, 0.0);
    double product = 0.0;
    for (Index c = 0; c < n; ++c) {
        solution[c] = 0.0;
        if (!is_free[c]) continue;
        residual[c] = right[c];
        direction[c] = right[c] / matrix.diagonal[c];
        product += residual[c] * direction[c];
    }
    const double least = part * product;
    for (Index step = 0; step < most_products && product > least && product > 0; ++step) {
        double curvature = 0.0;
        for (Index c = 0; c < n; ++c) {
            if (!is_free[c]) continue;
            double sum = matrix.diagonal[c] * direction[c];
            for (std::int32_t e = matrix.starts[c]; e < matrix.starts[c + 1]; ++e)
                sum -= matrix.weights[e] * direction[matrix.ends[e]];  // 0 for those that are not free
            image[c] = sum;
            curvature += direction[c] * sum;
        }
        const double length = product / curvature, before = product;
        product = 0.0;
        for (Index c = 0; c < n; ++c) {
            solution[c] += length * direction[c];
            residual[c] -= length * image[c];
            product += residual[c] * residual[c] / matrix.diagonal[c];
        }
        for (Index c = 0; c < n; ++c)
            direction[c] = residual[c] / matrix.diagonal[c] + product / before * direction[c];
    }
}

}  // namespace coterie
