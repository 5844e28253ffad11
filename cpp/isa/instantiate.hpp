// Included once by each file of this folder: fills a KernelTable with the kernels compiled for its instruction set.
#pragma once

#include "coterie/centers/bounded.hpp"
#include "coterie/centers/positions.hpp"
#include "coterie/convex/dual_step.hpp"
#include "coterie/total_variation/column_statistics.hpp"
#include "coterie/machine/isa.hpp"
#include "coterie/kernel_table.hpp"
#include "coterie/laplacian_kmodes/memberships.hpp"
#include "coterie/mixture/search.hpp"
#include "coterie/centers/nearest.hpp"
#include "coterie/graphs/neighbors.hpp"
#include "coterie/seeding/growing_set.hpp"
#include "coterie/centers/sparse_means.hpp"
#include "coterie/centers/sums.hpp"

namespace coterie {
namespace {

template <class Isa, class Rows>
constexpr RowKernels<Rows> row_kernels() {
    return {nearest<Isa, Rows>,         bounded_assign<Isa, Rows>,  add_to_clusters<Isa, Rows>,
            own_square_distances<Isa, Rows>, adopt_centers<Isa, Rows>, candidate_gains<Isa, Rows>, adopt_candidate<Isa, Rows>};
}

template <class Isa, class T>
constexpr CenterKernels<T> center_kernels() {
    return {move_centers<Isa, T>, relate_centers<Isa, T>, compare_centers<Isa, T, T>,
            compare_centers<Isa, double, T>};
}

template <class Isa, class T>
constexpr SparseMeanKernels<T> sparse_mean_kernels() {
    return {nearest_mean<Isa, CsrRows<T>>, write_lanes<Isa, T, T>, write_lanes<Isa, T, double>,
            take_votes<Isa, T>};
}

template <class Isa, class T>
constexpr MixtureKernels<T> mixture_kernels() {
    return {truncated_search<Isa, T>, truncated_refresh<Isa, T>, truncated_posteriors<Isa, T>, mixture_moments<Isa, T>};
}

template <class Isa, class T>
constexpr GraphKernels<T> graph_kernels() {
    return {update_memberships<Isa, T>};
}

template <class Isa, class T>
constexpr TotalVariationKernels<T> total_variation_kernels() {
    return {iterate_primal_dual<Isa, T>, column_statistics<Isa, T>};
}

template <class Isa, class T>
constexpr NeighborKernels<T> neighbor_kernels() {
    return {nearest_apart<Isa, T>, nearest_in_cells<Isa, T>};
}

template <class Isa, class T>
constexpr ConvexKernels<T> convex_kernels() {
    return {dual_step<Isa, T>, primal_points<Isa, T>, dual_sweep<Isa, T>, fusion_penalty<Isa, T>,
            split_lengths<Isa, T>, join_ends<Isa, T>, number_sets, set_means<Isa, T>};
}

template <class Isa>
constexpr KernelTable kernel_table(const char* name) {
    return {name,
            center_kernels<Isa, float>(),
            center_kernels<Isa, double>(),
            row_kernels<Isa, DenseRows<float>>(),
            row_kernels<Isa, DenseRows<double>>(),
            row_kernels<Isa, CsrRows<float>>(),
            row_kernels<Isa, CsrRows<double>>(),
            sparse_mean_kernels<Isa, float>(),
            sparse_mean_kernels<Isa, double>(),
            mixture_kernels<Isa, float>(),
            mixture_kernels<Isa, double>(),
            graph_kernels<Isa, float>(),
            graph_kernels<Isa, double>(),
            neighbor_kernels<Isa, float>(),
            neighbor_kernels<Isa, double>(),
            convex_kernels<Isa, float>(),
            convex_kernels<Isa, double>(),
            total_variation_kernels<Isa, float>(),
            total_variation_kernels<Isa, double>()};
}

}  // namespace
}  // namespace coterie
