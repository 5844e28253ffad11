// Objectives of a partition of a graph, as sums over its clusters.
#pragma once

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

}  // namespace coterie
