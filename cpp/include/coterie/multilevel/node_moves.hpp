// Moves of single nodes from cluster to cluster that raise an objective.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/numbers.hpp"

namespace coterie {

// All are maximized. With the share p of all edge ends at a cluster, and the share e of edge ends inside it:
// kInformation    sum e log(e / p^2) + e0 log(e0 / (1 - sum p^2)), e0 = 1 - sum e
// kModularity     sum e - resolution p^2
// kNormalizedCut  sum e / p
enum class QualityKind : int { kInformation, kModularity, kNormalizedCut };

// A cluster, as objectives see it: the weight of the edge ends inside it, and of all edge ends at it.
struct Cluster {
    double inside, volume;
};

// What a cluster adds to the three sums of an objective.
struct Summands {
    double term, inside, square;

    Summands operator+(const Summands& o) const { return {term + o.term, inside + o.inside, square + o.square}; }
    Summands operator-(const Summands& o) const { return {term - o.term, inside - o.inside, square - o.square}; }
};

struct Quality {
    QualityKind kind;
    double resolution;
    double volume;  // of the graph, above 0

    Summands summands(Cluster cluster) const {
        const double e = cluster.inside / volume, p = cluster.volume / volume, square = p * p;
        switch (kind) {
            case QualityKind::kModularity: return {e - resolution * square, 0, 0};
            case QualityKind::kNormalizedCut: return {p > 0 ? e / p : 0, 0, 0};
            default: return {e > 0 ? e * __builtin_log(e / square) : 0, e, square};
        }
    }

    double value(const Summands& sums) const {
        const double e = 1 - sums.inside, chance = 1 - sums.square;
        const bool has_between = kind == QualityKind::kInformation && e > 0 && chance > 0;
        return sums.term + (has_between ? e * __builtin_log(e / chance) : 0);
    }
};

// A symmetric graph in CSR form. A node may stand for several vertices: its loop is the weight of the edge ends inside.
struct NodeGraph {
    const Index* starts;          // n_nodes + 1
    const std::int32_t* columns;  // other ends, never the node itself
    const double* weights;        // above 0
    const double* loops;          // n_nodes
    Index n_nodes;
    double volume;                // of all edge ends, above 0

    double degree(Index i) const {
        double degree = loops[i];
        for (Index e = starts[i]; e < starts[i + 1]; ++e) degree += weights[e];
        return degree;
    }
};

namespace {

// By how much a move must raise an objective: more than rounding can.
inline constexpr double kLeastRise = 1e-10;

// One pass over the waiting nodes in their order: each moves to the adjacent cluster that raises the objective most, the
// lowest of equals, and its neighbors wait again. A cluster keeps its last node unless may_empty.
// IN/OUT labels (n_nodes), waits (n_nodes), clusters (n_clusters), sizes (n_clusters): nodes. Returns the number of moves.
inline Index move_nodes(const NodeGraph& graph, const Quality& quality, bool may_empty, std::int32_t* labels,
                        std::uint8_t* waits, Cluster* clusters, Index* sizes, Index n_clusters) {
    Buffer<double> links(n_clusters);
    Buffer<std::int32_t> adjacent(n_clusters);
    Buffer<Summands> summands(n_clusters);
    Summands sums{0, 0, 0};
    for (Index r = 0; r < n_clusters; ++r) {
        links[r] = 0;
        summands[r] = quality.summands(clusters[r]);
        sums = sums + summands[r];
    }
    Index n_moves = 0;
    for (Index i = 0; i < graph.n_nodes; ++i) {
        if (!waits[i]) continue;
        waits[i] = 0;
        const std::int32_t own = labels[i];
        if (sizes[own] == 1 && !may_empty) continue;
        const double loop = graph.loops[i];
        double degree = loop;
        Index n_adjacent = 0;
        for (Index e = graph.starts[i]; e < graph.starts[i + 1]; ++e) {
            const std::int32_t other = labels[graph.columns[e]];
            if (links[other] == 0) adjacent[n_adjacent++] = other;
            links[other] += graph.weights[e];
            degree += graph.weights[e];
        }
        if (n_adjacent == 1 && adjacent[0] == own) n_adjacent = 0, links[own] = 0;  // inside of its cluster
        if (n_adjacent == 0) continue;
        const Cluster left{clusters[own].inside - 2 * links[own] - loop, clusters[own].volume - degree};
        const Summands without = sums - summands[own] + quality.summands(left);
        const double now = quality.value(sums);
        double best_rise = kLeastRise;
        std::int32_t best = own;
        for (Index k = 0; k < n_adjacent; ++k) {
            const std::int32_t other = adjacent[k];
            if (other == own) continue;
            const Cluster joined{clusters[other].inside + 2 * links[other] + loop, clusters[other].volume + degree};
            const double rise = quality.value(without - summands[other] + quality.summands(joined)) - now;
            if (rise > best_rise || (rise == best_rise && best != own && other < best)) {
                best_rise = rise;
                best = other;
            }
        }
        if (best != own) {
            clusters[own] = left;
            clusters[best].inside += 2 * links[best] + loop;
            clusters[best].volume += degree;
            sums = without - summands[best];
            summands[own] = quality.summands(left);
            summands[best] = quality.summands(clusters[best]);
            sums = sums + summands[best];
            --sizes[own];
            ++sizes[best];
            labels[i] = best;
            for (Index e = graph.starts[i]; e < graph.starts[i + 1]; ++e) waits[graph.columns[e]] = 1;
            ++n_moves;
        }
        for (Index k = 0; k < n_adjacent; ++k) links[adjacent[k]] = 0;
    }
    return n_moves;
}

}  // namespace
}  // namespace coterie
