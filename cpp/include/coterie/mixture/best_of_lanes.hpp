// The best components of the rows of a tile, one lane to a row: no branch depends on a single one.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/isa.hpp"
#include "coterie/machine/lanes.hpp"

namespace coterie {
namespace {

// The few best components of each lane, sorted by energy, ties in the order of insertion.
template <class Isa, class T>
struct BestOfLanes {
    using V = typename Isa::template Vector<T>;
    using Ids = decltype(V{} < V{});  // integers as wide as T
    using Id = BitsType<T>;
    static constexpr Index kWidth = sizeof(V) / sizeof(T);

    explicit BestOfLanes(Index n_kept) : n_kept(n_kept), energies(n_kept * kWidth), ids(n_kept * kWidth) {}

    // Empty: an infinite energy belongs to no component.
    void clear() {
        energies.fill(infinity<T>());
        ids.fill(-1);
    }

    // Inserts one component in all lanes.
    void insert(V energy, Id of) {
        V* const kept = reinterpret_cast<V*>(energies.data());
        Ids* const kept_ids = reinterpret_cast<Ids*>(ids.data());
        Ids id = Ids{} + of;
        for (Index k = 0; k < n_kept; ++k) {
            const V other = kept[k];
            const Ids its = kept_ids[k], before = energy < other;
            kept[k] = before ? energy : other;
            kept_ids[k] = before ? id : its;
            energy = before ? other : energy;
            id = before ? its : id;
        }
    }

    // Replaces the candidates of the row of a lane. If there are too few components, the best one is repeated, without
    // a share.
    void write(Index lane, std::int32_t* kept, T* kept_energies) const {
        for (Index k = 0; k < n_kept; ++k) {
            const Id id = ids[k * kWidth + lane];
            kept[k] = id >= 0 ? static_cast<std::int32_t>(id) : kept[0];
            kept_energies[k] = energies[k * kWidth + lane];
        }
    }

    Index n_kept;
    Buffer<T> energies;
    Buffer<Id> ids;
};

// Distances become energies, with 0 in lanes without a row; sums[i] is that of line i over the rows. Lines fill squares,
// those beyond m are 0. least[i]: the least of lines i, i + kLanes, ...
template <class Isa, class T>
void energies_of_lanes(T* lines, Index n_rows, Index m, const T* precisions, const T* offsets, T* least, T* sums) {
    using V = typename Isa::template Vector<T>;
    using Tile = Square<Isa, T>;
    constexpr Index W = kLanes<T>, L = Tile::kWidth;
    alignas(64) T in_use[W];
    for (Index l = 0; l < W; ++l) in_use[l] = l < n_rows ? 1 : 0;
    for (Index i = 0; i < W * W; ++i) least[i] = infinity<T>();
    for (Index first = 0; first < m; first += W) {
        for (Index i = 0; i < W; ++i)
            for (Index l = 0; l < W; l += L) {
                V& line = *reinterpret_cast<V*>(lines + (first + i) * W + l);
                V& lowest = *reinterpret_cast<V*>(least + i * W + l);
                if (first + i >= m) {
                    line = V{};
                    continue;
                }
                const V energy = multiply_add(line, V{} + precisions[first + i], V{} + offsets[first + i]);
                line = *reinterpret_cast<const V*>(in_use + l) > 0 ? energy : V{};
                lowest = Isa::least(line, lowest);
            }
        alignas(64) T found[W];
        reinterpret_cast<const Tile*>(lines + first * W)->reduce_lines(found, Sum{});
        for (Index i = 0; i < W; ++i) sums[first + i] += found[i];
    }
}

// A bound of the n_kept best energies of each lane, slightly above the n_kept-th of the least ones, so that few others
// are below it.
template <class Isa, class T>
typename Isa::template Vector<T> bound_of_best(const T* least, Index n_kept, T* scratch) {
    using V = typename Isa::template Vector<T>;
    V* const best = reinterpret_cast<V*>(scratch);
    if (n_kept > kLanes<T>) return V{} + infinity<T>();
    for (Index k = 0; k < n_kept; ++k) best[k] = V{} + infinity<T>();
    for (Index i = 0; i < kLanes<T>; ++i) {
        V energy = *reinterpret_cast<const V*>(least + i * kLanes<T>);
        for (Index k = 0; k < n_kept; ++k) {
            const V other = best[k];
            best[k] = Isa::least(energy, other);
            energy = Isa::greatest(energy, other);
        }
    }
    const V last = best[n_kept - 1];
    return last + ((last < 0 ? -last : last) * epsilon<T>() + smallest_normal<T>());
}

// The best components of n rows by the lines of their energies; ids[i] is the component of line i. For row r calls
// take(r, best, lane). The lines to insert are determined first: a branch would wait for earlier insertions.
// `chosen` is scratch (m).
template <class Isa, class T, class Take>
void best_of_lanes(const T* lines, Index n, const std::int32_t* ids, Index m, const T* least,
                   BestOfLanes<Isa, T>& best, std::int32_t* chosen, Take take) {
    using V = typename Isa::template Vector<T>;
    constexpr Index W = kLanes<T>, L = sizeof(V) / sizeof(T);
    for (Index first = 0; first < n; first += L) {
        const V bound = bound_of_best<Isa, T>(least + first, best.n_kept, best.energies.data());
        const auto line = [=](Index i) { return *reinterpret_cast<const V*>(lines + i * W + first); };
        Index n_chosen = 0;
        for (Index i = 0; i < m; ++i) {
            chosen[n_chosen] = static_cast<std::int32_t>(i);
            n_chosen += Isa::any_below(line(i), bound);
        }
        best.clear();
        for (Index e = 0; e < n_chosen; ++e) best.insert(line(chosen[e]), ids[chosen[e]]);
        for (Index r = first; r < min_index(n, first + L); ++r) take(r, best, r - first);
    }
}

}  // namespace
}  // namespace coterie
