// Components with factors: the covariance of a component is diag(1 / scales^2) plus a product of factors. In columns
// scaled by `scales`, the factors are orthogonal directions, each with the variance that it adds to 1.
//
// With s = (x - mean) * scales, projections b_h = directions_h . s, and the residual r = s - sum_h b_h directions_h,
// the squared Mahalanobis distance is |r|^2 + sum_h shrinkages_h b_h^2, shrinkages_h being 1 / (1 + added variance).
// Unlike |s|^2 - sum_h (1 - shrinkages_h) b_h^2 nothing cancels where factors explain nearly all variance.
#pragma once

#include "coterie/centers/differences.hpp"
#include "coterie/centers/listed.hpp"
#include "coterie/machine/views.hpp"
#include "coterie/mixture/groups.hpp"

namespace coterie {

template <class T>
struct FactorComponents {
    const T* means;       // n_components x n_columns
    const T* scales;      // the same shape
    const T* directions;  // n_components x n_factors x width, columns padded with zeros to whole cache lines
    const T* shrinkages;  // n_components x n_factors
    const T* offsets;     // n_components; infinite: never chosen
    Index n_components;
    Index n_columns;
    Index n_factors;

};

// Sums of the M-step for a component, or for a piece of its rows, all of them weighted.
struct FactorMoments {
    double* mass;         // of the weights
    double* first;        // n_columns: of the rows, relative to the mean
    double* second;       // n_columns: of the squares of the same
    double* cross;        // n_factors x n_columns: of projections times rows
    double* projections;  // n_factors: of the projections
    double* outer;        // n_factors x n_factors: of their products
};

namespace {

// Rows at a time, and directions at a time: their sums fill the registers.
template <class Isa>
inline constexpr int kFactorRows = Isa::kRegisterBytes == 64 ? 4 : 2;
inline constexpr int kFactorsAtOnce = 4;

// The sum of the lanes of a cache line; its order does not depend on the width of a register.
template <int NV, int L, class V>
inline __attribute__((always_inline)) auto sum_of_line(V* parts) {
    parts[0] = fold<NV>(parts);
    return reduce_lanes<L, 1>(parts)[0];
}

// out[r * stride + f] = directions_f . rows_r.
template <class Isa, class T, int R, int F>
inline void project_tile(const T* rows, Index width, const T* directions, T* out, Index stride) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr int L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V);
    V parts[R * F][NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) {
        V sums[R * F] = {};
        for (Index j = v * L; j < width; j += kLanes<T>) {
            V x[R];
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) x[r] = *reinterpret_cast<const V*>(rows + r * width + j);
#pragma GCC unroll 4
            for (int f = 0; f < F; ++f) {
                const V direction = *reinterpret_cast<const Loaded*>(directions + f * width + j);
#pragma GCC unroll 4
                for (int r = 0; r < R; ++r) sums[r * F + f] += x[r] * direction;
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < R * F; ++i) parts[i][v] = sums[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < R * F; ++i) out[i / F * stride + i % F] = sum_of_line<NV, L>(parts[i]);
}

template <class Isa, class T, int R, int F = kFactorsAtOnce>
inline void project_rows(const T* rows, Index width, const T* directions, Index n_factors, T* out, Index stride) {
    for (; n_factors >= F; n_factors -= F, directions += F * width, out += F)
        project_tile<Isa, T, R, F>(rows, width, directions, out, stride);
    if constexpr (F > 1)
        if (n_factors > 0) project_rows<Isa, T, R, F / 2>(rows, width, directions, n_factors, out, stride);
}

// Squared lengths of the residuals of rows.
template <class Isa, class T, int R>
inline void residual_squares(const T* rows, Index width, const T* directions, Index n_factors, const T* projections,
                             Index stride, T* out) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr int L = sizeof(V) / sizeof(T), NV = 64 / sizeof(V);
    V sums[R][NV] = {};
    // Two lines at a time where a line is one register: sums of products are chains.
    constexpr int U = NV == 1 ? 2 : 1;
    const auto add = [&]<int Lines>(Index j, std::integral_constant<int, Lines>) {
        constexpr int N = Lines * NV;
        V rest[R][N];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < N; ++v) rest[r][v] = *reinterpret_cast<const V*>(rows + r * width + j + v * L);
        for (Index f = 0; f < n_factors; ++f) {
            const T* const direction = directions + f * width + j;
#pragma GCC unroll 4
            for (int v = 0; v < N; ++v) {
                const V at = *reinterpret_cast<const Loaded*>(direction + v * L);
#pragma GCC unroll 4
                for (int r = 0; r < R; ++r) rest[r][v] -= at * projections[r * stride + f];
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v)
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) sums[r][v % NV] += rest[r][v] * rest[r][v];
    };
    Index j = 0;
    for (; j + U * kLanes<T> <= width; j += U * kLanes<T>) add(j, std::integral_constant<int, U>{});
    for (; j < width; j += kLanes<T>) add(j, std::integral_constant<int, 1>{});
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) out[r] = sum_of_line<NV, L>(sums[r]);
}

// Differences from a mean, scaled. Everything is padded with zeros to `width`.
template <class Isa, class T>
inline void scale_differences(const T* rows, Index n_rows, Index width, const T* mean, const T* scales, T* out) {
    using V = typename Isa::template Vector<T>;
    using Loaded = typename Isa::template UnalignedVector<T>;
    constexpr int L = sizeof(V) / sizeof(T);
    for (Index j = 0; j < width; j += L) {
        const V center = *reinterpret_cast<const Loaded*>(mean + j), scale = *reinterpret_cast<const Loaded*>(scales + j);
        for (Index r = 0; r < n_rows; ++r)
            *reinterpret_cast<V*>(out + r * width + j) =
                (*reinterpret_cast<const V*>(rows + r * width + j) - center) * scale;
    }
}

// Means and scales padded like directions, with the address for a component.
template <class Isa, class T>
struct PaddedComponents {
    PaddedComponents(const FactorComponents<T>& components, int n_threads)
        : width(ceil_div(components.n_columns, kLanes<T>) * kLanes<T>),
          n_factors(components.n_factors),
          means(padded_rows<Isa>(components.means, components.n_components, components.n_columns, width, n_threads)),
          scales(padded_rows<Isa>(components.scales, components.n_components, components.n_columns, width, n_threads)),
          all_directions(components.directions),
          all_shrinkages(components.shrinkages) {}

    const T* mean(Index c) const { return means.data() + c * width; }
    const T* scale(Index c) const { return scales.data() + c * width; }
    const T* directions(Index c) const { return all_directions + c * n_factors * width; }
    const T* shrinkages(Index c) const { return all_shrinkages + c * n_factors; }

    Index width, n_factors;
    Buffer<T> means, scales;
    const T *all_directions, *all_shrinkages;
};

template <class T>
struct FactorScratch {
    FactorScratch(Index n_rows, Index width, Index n_factors)
        : rows(n_rows * width), scaled(4 * width), projections(4 * max_index(1, n_factors)) {}

    Buffer<T> rows, scaled, projections;
};

// Squared Mahalanobis distances of padded rows to a component.
template <class Isa, class T, int R = kFactorRows<Isa>>
void factor_distances(const T* rows, Index n_rows, const PaddedComponents<Isa, T>& components, Index c, T* out,
                      FactorScratch<T>& scratch) {
    const Index width = components.width, h = components.n_factors;
    const T* const directions = components.directions(c);
    const T* const shrinkages = components.shrinkages(c);
    T *const scaled = scratch.scaled.data(), *const projections = scratch.projections.data();
    for (; n_rows >= R; n_rows -= R, rows += R * width, out += R) {
        scale_differences<Isa>(rows, R, width, components.mean(c), components.scale(c), scaled);
        project_rows<Isa, T, R>(scaled, width, directions, h, projections, h);
        residual_squares<Isa, T, R>(scaled, width, directions, h, projections, h, out);
        for (int r = 0; r < R; ++r)
            for (Index f = 0; f < h; ++f) {
                const T b = projections[r * h + f];
                out[r] = multiply_add_in_order(b * shrinkages[f], b, out[r]);
            }
    }
    if constexpr (R > 1)
        if (n_rows > 0) factor_distances<Isa, T, R / 2>(rows, n_rows, components, c, out, scratch);
}

// Energies of rows with some components, in their order. IN x, components, ids (m); OUT energies (n_rows x m).
template <class Isa, class T>
void factor_energies(const DenseRows<T>& x, const FactorComponents<T>& components, const std::int32_t* ids, Index m,
                     T* energies, int n_threads) {
    constexpr Index kTile = 16;
    const PaddedComponents<Isa, T> padded(components, n_threads);
    const auto make_scratch = [&] { return FactorScratch<T>(kTile, padded.width, padded.n_factors); };
    parallel_for(ceil_div(x.n_rows, kTile), n_threads, make_scratch, [&](Index task, FactorScratch<T>& scratch) {
        const Index begin = task * kTile, n = min_index(kTile, x.n_rows - begin);
        for (Index r = 0; r < n; ++r) copy_padded<Isa>(x.row(begin + r), x.n_columns, scratch.rows.data() + r * padded.width);
        T found[kTile];
        for (Index i = 0; i < m; ++i) {
            const Index c = ids[i];
            factor_distances<Isa, T>(scratch.rows.data(), n, padded, c, found, scratch);
            for (Index r = 0; r < n; ++r)
                energies[(begin + r) * m + i] = multiply_add_in_order(found[r], T(0.5), components.offsets[c]);
        }
    });
}

// Energies of rows with the components that they list, as `distances_to_listed` has distances.
// IN x, components; IN/OUT ids (n_rows x m); OUT energies (n_rows x m), ascending.
template <class Isa, class T>
void factor_energies_of_listed(const DenseRows<T>& x, const FactorComponents<T>& components, Index m,
                               std::int32_t* ids, T* energies, int n_threads) {
    constexpr Index kTile = 16, kPiece = 512, kChunk = 512;
    const PaddedComponents<Isa, T> padded(components, n_threads);
    // Rows that list a component are processed together.
    const Grouping<Index> groups = group_by<Index>(x.n_rows, components.n_components, n_threads, [&](Index begin, Index end, auto&& take) {
        for (Index e = begin * m; e < end * m; ++e) take(ids[e], e);
    });
    const Pieces pieces = cut_groups(groups.starts.data(), components.n_components, kPiece);
    Buffer<T> found(x.n_rows * m);
    const auto make_scratch = [&] { return FactorScratch<T>(kTile, padded.width, padded.n_factors); };
    parallel_for(pieces.size, n_threads, make_scratch, [&](Index task, FactorScratch<T>& scratch) {
        const Piece piece = pieces.pieces[task];
        T distances[kTile];
        for (Index first = piece.begin; first < piece.end; first += kTile) {
            const Index n = min_index(kTile, piece.end - first);
            for (Index r = 0; r < n; ++r)
                copy_padded<Isa>(x.row(groups.items[first + r] / m), x.n_columns, scratch.rows.data() + r * padded.width);
            factor_distances<Isa, T>(scratch.rows.data(), n, padded, piece.group, distances, scratch);
            for (Index r = 0; r < n; ++r)
                found[groups.items[first + r]] = multiply_add_in_order(distances[r], T(0.5), components.offsets[piece.group]);
        }
    });
    parallel_for(ceil_div(x.n_rows, kChunk), n_threads, [&](Index task) {
        for (Index i = task * kChunk; i < min_index(x.n_rows, (task + 1) * kChunk); ++i)
            sort_listed(found.data() + i * m, m, ids + i * m, energies + i * m);
    });
}

// A row with a share in a component.
struct WeightedRow {
    Index row;
    double weight;
};

template <class Isa, class T, int R>
void add_rows_to_factor_moments(const DenseRows<T>& x, const WeightedRow* entries, const T* mean,
                                const PaddedComponents<Isa, T>& components, Index c, const FactorMoments& out,
                                double* differences, FactorScratch<T>& scratch) {
    const Index d = x.n_columns, h = components.n_factors, width = components.width;
    T* const b = scratch.projections.data();
    double weights[R];
    for (int r = 0; r < R; ++r) {
        const T* const row = x.row(entries[r].row);
        weights[r] = entries[r].weight;
        copy_padded<Isa>(row, d, scratch.rows.data() + r * width);
        for (Index j = 0; j < d; ++j) differences[r * d + j] = static_cast<double>(row[j] - mean[j]);
    }
    scale_differences<Isa>(scratch.rows.data(), R, width, components.mean(c), components.scale(c), scratch.scaled.data());
    project_rows<Isa, T, R>(scratch.scaled.data(), width, components.directions(c), h, b, h);
    for (int r = 0; r < R; ++r) *out.mass += weights[r];
    double *const first = out.first, *const second = out.second;
    for (Index j = 0; j < d; ++j) {
        double sum = first[j], square = second[j];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            const double difference = differences[r * d + j];
            sum = multiply_add_in_order(weights[r], difference, sum);
            square = multiply_add_in_order(weights[r] * difference, difference, square);
        }
        first[j] = sum;
        second[j] = square;
    }
    for (Index f = 0; f < h; ++f) {
        double* const cross = out.cross + f * d;
        double own[R];
        for (int r = 0; r < R; ++r) {
            own[r] = weights[r] * static_cast<double>(b[r * h + f]);
            out.projections[f] += own[r];
            for (Index g = 0; g < h; ++g) {
                double& product = out.outer[f * h + g];
                product = multiply_add_in_order(own[r], static_cast<double>(b[r * h + g]), product);
            }
        }
        for (Index j = 0; j < d; ++j) {
            double sum = cross[j];
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) sum = multiply_add_in_order(own[r], differences[r * d + j], sum);
            cross[j] = sum;
        }
    }
}

// Adds up the sufficient statistics of the M-step for each component.
// IN x, candidates, shares (n_rows x m, descending), weights (n_rows or nullptr), components (without offsets and
// shrinkages); IN/OUT out, of all components.
template <class Isa, class T>
void factor_moments(const DenseRows<T>& x, const std::int32_t* candidates, const T* shares, const T* weights, Index m,
                    const FactorComponents<T>& given, const FactorMoments& out, int n_threads) {
    constexpr Index kPiece = 512;
    const Index d = x.n_columns, h = given.n_factors;
    const PaddedComponents<Isa, T> components(given, n_threads);
    const Grouping<WeightedRow> groups =
        group_by<WeightedRow>(x.n_rows, given.n_components, n_threads, [&](Index begin, Index end, auto&& take) {
            for (Index i = begin; i < end; ++i)
                for (Index e = i * m; e < (i + 1) * m && shares[e] > 0; ++e)
                    take(candidates[e], WeightedRow{i, static_cast<double>((weights == nullptr ? T(1) : weights[i]) * shares[e])});
        });
    const Pieces pieces = cut_groups(groups.starts.data(), given.n_components, kPiece);
    const GroupSums<6> sums{{out.mass, out.first, out.second, out.cross, out.projections, out.outer},
                            {1, d, d, h * d, h, h * h}};
    struct Scratch {
        FactorScratch<T> factors;
        Buffer<double> differences;
    };
    const auto make_scratch = [&] { return Scratch{FactorScratch<T>(4, components.width, h), Buffer<double>(4 * d)}; };
    const auto add_piece = [&](const Piece& piece, double* const* own, Scratch& scratch) {
        const FactorMoments added{own[0], own[1], own[2], own[3], own[4], own[5]};
        const T* const mean = given.means + piece.group * d;
        constexpr int R = kFactorRows<Isa>;
        Index e = piece.begin;
        for (; e + R <= piece.end; e += R)
            add_rows_to_factor_moments<Isa, T, R>(x, groups.items.data() + e, mean, components, piece.group, added,
                                                  scratch.differences.data(), scratch.factors);
        for (; e < piece.end; ++e)
            add_rows_to_factor_moments<Isa, T, 1>(x, groups.items.data() + e, mean, components, piece.group, added,
                                                  scratch.differences.data(), scratch.factors);
    };
    add_pieces(pieces, given.n_components, sums, n_threads, make_scratch, add_piece);
}

}  // namespace
}  // namespace coterie
