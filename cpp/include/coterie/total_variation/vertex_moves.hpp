// Moves single vertices between clusters as long as the balanced cut (P) decreases.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/numbers.hpp"

namespace coterie {

// A graph with every edge at both of its ends, and the other data of (P).
struct CutVertices {
    const Index* starts;           // n_vertices + 1
    const std::int32_t* columns;   // other ends; never the vertex itself
    const double* weights;         // or nullptr: 1
    const double* sizes;           // n_vertices: weight of a vertex in the size of its cluster, or nullptr: 1
    const std::uint8_t* fixed;     // n_vertices: whether a vertex is fixed
    const double* asymmetries;     // n_clusters: lambda
    Index n_vertices, n_clusters;
    double least, most;  // bounds of the number of vertices of a cluster

    double weight(Index e) const { return weights == nullptr ? 1.0 : weights[e]; }
    double size(Index i) const { return sizes == nullptr ? 1.0 : sizes[i]; }
};

namespace {

// Least relative decrease of the cost of two clusters by a move, above rounding errors.
inline constexpr double kLeastGain = 1e-9;

// Cuts and sizes of clusters, updated when vertices move.
class MovingVertices {
   public:
    MovingVertices(const CutVertices& vertices, std::int32_t* clusters)
        : vertices_(vertices), clusters_(clusters), cuts_(vertices.n_clusters), sizes_(vertices.n_clusters),
          links_(vertices.n_clusters), neighbors_(vertices.n_clusters), counts_(vertices.n_clusters) {
        for (Index r = 0; r < vertices.n_clusters; ++r) cuts_[r] = sizes_[r] = links_[r] = counts_[r] = 0;
        for (Index i = 0; i < vertices.n_vertices; ++i) {
            counts_[clusters[i]] += 1;
            sizes_[clusters[i]] += vertices.size(i);
            whole_ += vertices.size(i);
            for (Index e = vertices.starts[i]; e < vertices.starts[i + 1]; ++e)
                if (clusters[vertices.columns[e]] != clusters[i]) cuts_[clusters[i]] += vertices.weight(e);
        }
    }

    // Moves vertex i to the adjacent cluster that lowers (P) most; returns whether there is one.
    bool move(Index i) {
        const std::int32_t own = clusters_[i];
        if (counts_[own] - 1 < vertices_.least || !touches_others(i)) return false;
        double degree = 0;
        Index n_neighbors = 0;
        for (Index e = vertices_.starts[i]; e < vertices_.starts[i + 1]; ++e) {
            const std::int32_t other = clusters_[vertices_.columns[e]];
            if (links_[other] == 0) neighbors_[n_neighbors++] = other;
            links_[other] += vertices_.weight(e);
            degree += vertices_.weight(e);
        }
        const double size = vertices_.size(i), leaving = 2 * links_[own] - degree, now = cost(own, 0, 0);
        const double without = cost(own, leaving, -size);
        std::int32_t best = own;
        double lowest = 0;
        for (Index k = 0; k < n_neighbors; ++k) {
            const std::int32_t other = neighbors_[k];
            if (other == own || counts_[other] + 1 > vertices_.most) continue;
            const double before = now + cost(other, 0, 0);
            const double change = without + cost(other, degree - 2 * links_[other], size) - before;
            if (change < -kLeastGain * before && change < lowest) {
                lowest = change;
                best = other;
            }
        }
        if (best != own) {
            cuts_[own] += leaving;
            sizes_[own] -= size;
            counts_[own] -= 1;
            counts_[best] += 1;
            cuts_[best] += degree - 2 * links_[best];
            sizes_[best] += size;
            clusters_[i] = best;
        }
        for (Index k = 0; k < n_neighbors; ++k) links_[neighbors_[k]] = 0;
        return best != own;
    }

   private:
    bool touches_others(Index i) const {
        for (Index e = vertices_.starts[i]; e < vertices_.starts[i + 1]; ++e)
            if (clusters_[vertices_.columns[e]] != clusters_[i]) return true;
        return false;
    }
    // The cost of cluster r after changes of its cut and size; infinite if it becomes empty.
    double cost(std::int32_t r, double cut, double size) const {
        const double with = sizes_[r] + size, inside = vertices_.asymmetries[r] * with, outside = whole_ - with;
        const double limit = inside < outside ? inside : outside;
        return limit > 0 ? (cuts_[r] + cut) / limit : infinity<double>();
    }

    const CutVertices& vertices_;
    std::int32_t* clusters_;
    Buffer<double> cuts_, sizes_, links_;
    Buffer<std::int32_t> neighbors_;
    Buffer<double> counts_;
    double whole_ = 0;
};

// Moves vertices in their order, repeatedly, until no move lowers (P). A vertex is checked again when an adjacent one
// has moved, and all are checked in the end, as moves change sizes everywhere. IN/OUT clusters (n_vertices). Returns
// the number of moves.
inline Index move_vertices(const CutVertices& vertices, std::int32_t* clusters) {
    MovingVertices moving(vertices, clusters);
    Buffer<std::uint8_t> waits(vertices.n_vertices);
    Index n_moves = 0;
    for (bool of_all = true, is_settled = false; !is_settled;) {
        if (of_all)
            for (Index i = 0; i < vertices.n_vertices; ++i) waits[i] = vertices.fixed[i] == 0;
        Index moved = 0;
        for (Index i = 0; i < vertices.n_vertices; ++i) {
            if (!waits[i]) continue;
            waits[i] = 0;
            if (!moving.move(i)) continue;
            ++moved;
            for (Index e = vertices.starts[i]; e < vertices.starts[i + 1]; ++e)
                waits[vertices.columns[e]] = vertices.fixed[vertices.columns[e]] == 0;
        }
        n_moves += moved;
        is_settled = of_all && moved == 0;
        of_all = moved == 0;
    }
    return n_moves;
}

}  // namespace
}  // namespace coterie
