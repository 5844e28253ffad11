// Included once by each file of this folder: a table of the kernels compiled for its instruction set and for one type of
// numbers, COTERIE_NUMBER. Each file is compiled once per type, so that the two halves compile side by side.
#pragma once

#include "coterie/kernel_table.hpp"

namespace coterie {
namespace {

template <class Isa, class Rows>
constexpr RowKernels<Rows> row_kernels() {
    return {
        .nearest = nearest<Isa, Rows>,
        .add_to_clusters = add_to_clusters<Isa, Rows>,
        .own_square_distances = own_square_distances<Isa, Rows>,
        .pairs_in_reach = pairs_in_reach<Isa, Rows>,
    };
}

template <class Isa, class T>
constexpr KernelsOf<T> kernels_of() {
    return {
        .dense_rows = row_kernels<Isa, DenseRows<T>>(),
        .sparse_rows = row_kernels<Isa, CsrRows<T>>(),
        .move_centers = move_centers<Isa, T>,
        .relate_centers = relate_centers<Isa, T>,
        .move_means_by_sums = move_means_by_sums<Isa, T>,
        .compare_centers = compare_centers<Isa, T, T>,
        .compare_centers_of_doubles = compare_centers<Isa, double, T>,
        .distances_to_listed = distances_to_listed<Isa, T>,
        .least_of_lists = least_of_lists<Isa, T>,
        .nearest_apart = nearest_apart<Isa, T>,
        .products = products<Isa, T>,
        .cells_in_reach = cells_in_reach<Isa, T>,
        .nearest_in_cells = nearest_in_cells<Isa, T>,
        .nearest_of_candidates = nearest_of_candidates<Isa, T>,
        .box_tree = box_tree<Isa, T>,
        .nearest_reachable = nearest_reachable<Isa, T>,
        .truncated_search = truncated_search<Isa, T>,
        .truncated_posteriors = truncated_posteriors<Isa, T>,
        .mixture_moments = mixture_moments<Isa, T>,
        .factor_search = factor_search<Isa, T>,
        .factor_energies = factor_energies<Isa, T>,
        .factor_energies_of_listed = factor_energies_of_listed<Isa, T>,
        .factor_moments = factor_moments<Isa, T>,
        .update_memberships = update_memberships<Isa, T>,
        .dual_step = dual_step<Isa, T>,
        .primal_points = primal_points<Isa, T>,
        .dual_ascent = dual_ascent<Isa, T>,
        .dual_sweep = dual_sweep<Isa, T>,
        .fusion_penalty = fusion_penalty<Isa, T>,
        .split_lengths = split_lengths<Isa, T>,
        .iterate_primal_dual = iterate_primal_dual<Isa, T>,
        .column_statistics = column_statistics<Isa, T>,
    };
}

using Number = COTERIE_NUMBER;

template <class Isa>
constinit const KernelsOf<Number> kKernelsOf = kernels_of<Isa, Number>();

}  // namespace
}  // namespace coterie
