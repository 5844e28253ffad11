// Total variation denoising on a tree: minimizes sum_i 1/2 size_i (x_i - u_i)^2 + gamma sum_i w_i |u_i - u_parent(i)|,
// exactly, by dynamic programming (Kolmogorov, Pock & Rolinek 2016).
//
// The derivative of the cost of a subtree by the value of its root is continuous, increasing and piecewise linear. The
// message of a node to its parent is that derivative, clipped to [-gamma w, gamma w]. Only the breakpoints in between
// are kept, in two pairing heaps that hold the same breakpoints, by ascending and by descending position: each node adds
// two, and removes those that are clipped off at either end. O(n log n) in all.
#pragma once

#include <utility>

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

// Nodes so that parents come before their children; node 0 is the root.
struct WeightedTree {
    const std::int32_t* parents;
    const double* sizes;    // of the nodes
    const double* weights;  // of the edges to the parents
    Index n_nodes;
};

// A breakpoint: by how much the derivative, slope u + offset, changes there; with slope 0 it has been removed.
struct Breakpoint {
    double position, slope, offset;
    std::int32_t child[2], next[2];  // in the heap by descending and in that by ascending position
};

// Joins two heaps, -1 for an empty one; equal positions are ordered by number.
template <bool kLow>
std::int32_t meld(Breakpoint* points, std::int32_t a, std::int32_t b) {
    if (a < 0) return b;
    if (b < 0) return a;
    const double p = points[a].position, q = points[b].position;
    const bool is_first = p == q ? a < b : (kLow ? p < q : p > q);
    if (!is_first) std::swap(a, b);
    points[b].next[kLow] = points[a].child[kLow];
    points[a].child[kLow] = b;
    return a;
}

template <bool kLow>
std::int32_t without_first(Breakpoint* points, std::int32_t root) {
    std::int32_t rest = points[root].child[kLow], pairs = -1;
    while (rest >= 0) {
        const std::int32_t one = rest, other = points[one].next[kLow];
        rest = other < 0 ? -1 : points[other].next[kLow];
        const std::int32_t pair = meld<kLow>(points, one, other);
        points[pair].next[kLow] = pairs;
        pairs = pair;
    }
    std::int32_t heap = -1;
    while (pairs >= 0) {
        const std::int32_t next = points[pairs].next[kLow];
        heap = meld<kLow>(points, heap, pairs);
        pairs = next;
    }
    return heap;
}

// A line of a derivative.
struct LinePart {
    double slope, offset;
};

// Follows a derivative from its low (high) end until it is at least (at most) a bound, and removes the breakpoints
// before that.
template <bool kLow>
LinePart clipped(Breakpoint* points, std::int32_t& heap, LinePart line, double bound) {
    while (heap >= 0) {
        Breakpoint& point = points[heap];
        if (point.slope != 0) {
            const double value = line.slope * point.position + line.offset;
            if (kLow ? value >= bound : value <= bound) break;
            line.slope += kLow ? point.slope : -point.slope;
            line.offset += kLow ? point.offset : -point.offset;
            point.slope = 0;
        }
        heap = without_first<kLow>(points, heap);
    }
    return line;
}

// Scratch memory of one thread for a column of n nodes.
struct TreeScratch {
    Buffer<Breakpoint> points;
    Buffer<std::int32_t> set, parents, low, high;
    Buffer<double> sizes, masses, radii, offsets, reach, lower, upper, values, flows;

    explicit TreeScratch(Index n)
        : points(2 * n), set(n), parents(n), low(n), high(n), sizes(n), masses(n), radii(n), offsets(n), reach(n),
          lower(n), upper(n), values(n), flows(n) {}
};

// Minimizes on the first n nodes of the scratch: parents, sizes, masses (size x) and radii (gamma w) to values.
inline void minimize_on_tree(TreeScratch& s, Index n) {
    Breakpoint* const points = s.points.data();
    for (Index i = 0; i < n; ++i) {
        s.low[i] = s.high[i] = -1;
        s.offsets[i] = -s.masses[i];
        s.reach[i] = 0;  // sums of the children's messages at either end
    }
    for (Index i = n - 1; i > 0; --i) {
        const double radius = s.radii[i];
        const LinePart left = clipped<true>(points, s.low[i], {s.sizes[i], s.offsets[i] - s.reach[i]}, -radius);
        const LinePart right = clipped<false>(points, s.high[i], {s.sizes[i], s.offsets[i] + s.reach[i]}, radius);
        s.lower[i] = (-radius - left.offset) / left.slope;
        s.upper[i] = (radius - right.offset) / right.slope;
        if (s.upper[i] < s.lower[i]) s.upper[i] = s.lower[i];
        const std::int32_t a = static_cast<std::int32_t>(2 * i), b = a + 1;
        points[a] = {s.lower[i], left.slope, left.offset + radius, {-1, -1}, {-1, -1}};
        points[b] = {s.upper[i], -right.slope, radius - right.offset, {-1, -1}, {-1, -1}};
        const std::int32_t parent = s.parents[i];
        s.low[parent] = meld<true>(points, s.low[parent], meld<true>(points, s.low[i], meld<true>(points, a, b)));
        s.high[parent] = meld<false>(points, s.high[parent], meld<false>(points, s.high[i], meld<false>(points, a, b)));
        s.reach[parent] += radius;
    }
    const LinePart zero = clipped<true>(points, s.low[0], {s.sizes[0], s.offsets[0] - s.reach[0]}, 0);
    s.values[0] = -zero.offset / zero.slope;
    for (Index i = 1; i < n; ++i) {
        const double above = s.values[s.parents[i]];
        s.values[i] = above < s.lower[i] ? s.lower[i] : above > s.upper[i] ? s.upper[i] : above;
    }
}

// The share of its bound by which the flow over a contracted edge may miss it.
constexpr double kMayMiss = 1e-9;

// Number of attempts with contractions before a column is solved without any.
constexpr int kContractions = 4;

// Solves for one column. Edges that are marked as fused are contracted; where the flow over one of them then exceeds its
// bound, its ends are apart, and the column is solved again without that contraction.
// IN tree, x (n); IN/OUT fused (n): contracted before, u_i = u_parent after; OUT u, flows (n, if needed), and
// (objective, duality gap) in sums.
inline void denoise_column(const WeightedTree& tree, double gamma, const double* x, std::uint8_t* fused, double* u,
                           double* flows, double* sums, TreeScratch& s) {
    const Index n = tree.n_nodes;
    fused[0] = 0;
    for (int attempt = 0;; ++attempt) {
        std::int32_t n_sets = 0;
        for (Index i = 0; i < n; ++i) {
            const std::int32_t parent = s.set[tree.parents[i]];
            if (fused[i]) {
                s.set[i] = parent;
                s.sizes[parent] += tree.sizes[i];
                s.masses[parent] += tree.sizes[i] * x[i];
                continue;
            }
            s.parents[n_sets] = parent;
            s.sizes[n_sets] = tree.sizes[i];
            s.masses[n_sets] = tree.sizes[i] * x[i];
            s.radii[n_sets] = gamma * tree.weights[i];
            s.set[i] = n_sets++;
        }
        minimize_on_tree(s, n_sets);
        for (Index i = 0; i < n; ++i) {
            u[i] = s.values[s.set[i]];
            s.flows[i] = tree.sizes[i] * (x[i] - u[i]);
        }
        bool is_solved = true;
        for (Index i = n - 1; i > 0; --i) {
            const double flow = s.flows[i], bound = gamma * tree.weights[i] * (1 + kMayMiss);
            if (fused[i] && (flow > bound || flow < -bound)) {
                fused[i] = 0;
                is_solved = false;
            }
            s.flows[tree.parents[i]] += flow;
        }
        if (is_solved) break;
        if (attempt == kContractions)
            for (Index i = 0; i < n; ++i) fused[i] = 0;
    }
    // The dual flow, made feasible, and its gap as a sum of terms that are not negative.
    double squares = 0, lengths = 0, misses = 0, slack = 0;
    double* const left = s.offsets.data();  // difference of rows minus flows and values
    for (Index i = 0; i < n; ++i) left[i] = tree.sizes[i] * (x[i] - u[i]);
    for (Index i = n - 1; i > 0; --i) {
        const double bound = gamma * tree.weights[i], difference = u[i] - u[tree.parents[i]];
        double flow = s.flows[i];
        flow = flow > bound ? bound : flow < -bound ? -bound : flow;
        left[i] -= flow;
        left[tree.parents[i]] += flow;
        const double length = bound * (difference < 0 ? -difference : difference);
        lengths += length;
        const double open = length - flow * difference;
        slack += open > 0 ? open : 0;
        fused[i] = difference == 0;
        if (flows != nullptr) flows[i] = flow;
    }
    if (flows != nullptr) flows[0] = 0;
    for (Index i = 0; i < n; ++i) {
        squares += tree.sizes[i] * (x[i] - u[i]) * (x[i] - u[i]);
        misses += left[i] * left[i] / tree.sizes[i];
    }
    sums[0] = 0.5 * squares + lengths;
    sums[1] = 0.5 * misses + slack;
}

// All columns at once, each by one thread. IN columns (n_columns x n); the others as above, per column.
inline void denoise_on_tree(const WeightedTree& tree, double gamma, const double* columns, Index n_columns,
                            std::uint8_t* fused, double* u, double* flows, double* sums, int n_threads) {
    const Index n = tree.n_nodes;
    parallel_for(
        n_columns, n_threads, [n] { return TreeScratch(n); },
        [&](Index c, TreeScratch& scratch) {
            denoise_column(tree, gamma, columns + c * n, fused + c * n, u + c * n,
                           flows == nullptr ? nullptr : flows + c * n, sums + 2 * c, scratch);
        });
}

// The least gamma for which all values are the mean, 0: the largest flow over an edge, relative to its weight.
// IN columns (n_columns x n), each of weighted mean 0.
inline double last_gamma(const WeightedTree& tree, const double* columns, Index n_columns) {
    Buffer<double> flows(tree.n_nodes);
    double largest = 0;
    for (Index c = 0; c < n_columns; ++c) {
        const double* const x = columns + c * tree.n_nodes;
        for (Index i = 0; i < tree.n_nodes; ++i) flows[i] = tree.sizes[i] * x[i];
        for (Index i = tree.n_nodes - 1; i > 0; --i) {
            const double load = (flows[i] < 0 ? -flows[i] : flows[i]) / tree.weights[i];
            if (load > largest) largest = load;
            flows[tree.parents[i]] += flows[i];
        }
    }
    return largest;
}

}  // namespace
}  // namespace coterie
