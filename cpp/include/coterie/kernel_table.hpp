// The kernels as function pointers: a table per instruction set, one of them chosen when the module is loaded.
// A field has the name of its kernel, whose header documents the arguments, and is the kernel for the set Isa.
#pragma once

#include "coterie/centers/assign.hpp"
#include "coterie/centers/bounded.hpp"
#include "coterie/centers/listed.hpp"
#include "coterie/centers/nearest.hpp"
#include "coterie/centers/own_distances.hpp"
#include "coterie/centers/positions.hpp"
#include "coterie/centers/running_means.hpp"
#include "coterie/centers/sums.hpp"
#include "coterie/convex/dual_ascent.hpp"
#include "coterie/convex/dual_sweep.hpp"
#include "coterie/convex/edge_lengths.hpp"
#include "coterie/graphs/nearest_apart.hpp"
#include "coterie/graphs/nearest_by_bytes.hpp"
#include "coterie/graphs/nearest_in_cells.hpp"
#include "coterie/graphs/nearest_of_candidates.hpp"
#include "coterie/graphs/nearest_reachable.hpp"
#include "coterie/laplacian_kmodes/memberships.hpp"
#include "coterie/mixture/moments.hpp"
#include "coterie/mixture/posteriors.hpp"
#include "coterie/mixture/search.hpp"
#include "coterie/seeding/pools.hpp"
#include "coterie/size_constrained/least_of_lists.hpp"
#include "coterie/total_variation/column_statistics.hpp"
#include "coterie/total_variation/primal_dual.hpp"

namespace coterie {

// Of dense or of sparse rows. Without Isa: of any set, on which the types of kernels do not depend.
template <class Rows, class Isa = void>
struct RowKernels {
    // centers
    decltype(&coterie::nearest<Isa, Rows>) nearest = coterie::nearest<Isa, Rows>;
    decltype(&coterie::add_to_clusters<Isa, Rows>) add_to_clusters = coterie::add_to_clusters<Isa, Rows>;
    decltype(&coterie::own_square_distances<Isa, Rows>) own_square_distances = coterie::own_square_distances<Isa, Rows>;
    // seeding
    decltype(&coterie::pairs_in_reach<Isa, Rows>) pairs_in_reach = coterie::pairs_in_reach<Isa, Rows>;
};

template <class T, class Isa = void>
struct KernelsOf : RowKernels<DenseRows<T>, Isa>, RowKernels<CsrRows<T>, Isa> {
    // centers
    decltype(&coterie::move_centers<Isa, T>) move_centers = coterie::move_centers<Isa, T>;
    decltype(&coterie::relate_centers<Isa, T>) relate_centers = coterie::relate_centers<Isa, T>;
    decltype(&coterie::move_means_by_sums<Isa, T>) move_means_by_sums = coterie::move_means_by_sums<Isa, T>;
    decltype(&coterie::compare_centers<Isa, T, T>) compare_centers = coterie::compare_centers<Isa, T, T>;
    decltype(&coterie::compare_centers<Isa, double, T>) compare_centers_of_doubles =
        coterie::compare_centers<Isa, double, T>;
    decltype(&coterie::distances_to_listed<Isa, T>) distances_to_listed = coterie::distances_to_listed<Isa, T>;
    decltype(&coterie::least_of_lists<Isa, T>) least_of_lists = coterie::least_of_lists<Isa, T>;
    // graphs
    decltype(&coterie::nearest_apart<Isa, T>) nearest_apart = coterie::nearest_apart<Isa, T>;
    decltype(&coterie::products<Isa, T>) products = coterie::products<Isa, T>;
    decltype(&coterie::cells_in_reach<Isa, T>) cells_in_reach = coterie::cells_in_reach<Isa, T>;
    decltype(&coterie::nearest_of_candidates<Isa, T>) nearest_of_candidates = coterie::nearest_of_candidates<Isa, T>;
    decltype(&coterie::box_tree<Isa, T>) box_tree = coterie::box_tree<Isa, T>;
    decltype(&coterie::nearest_reachable<Isa, T>) nearest_reachable = coterie::nearest_reachable<Isa, T>;
    // mixture
    decltype(&coterie::truncated_search<Isa, T>) truncated_search = coterie::truncated_search<Isa, T>;
    decltype(&coterie::truncated_posteriors<Isa, T>) truncated_posteriors = coterie::truncated_posteriors<Isa, T>;
    decltype(&coterie::mixture_moments<Isa, T>) mixture_moments = coterie::mixture_moments<Isa, T>;
    decltype(&coterie::factor_search<Isa, T>) factor_search = coterie::factor_search<Isa, T>;
    decltype(&coterie::factor_energies<Isa, T>) factor_energies = coterie::factor_energies<Isa, T>;
    decltype(&coterie::factor_energies_of_listed<Isa, T>) factor_energies_of_listed =
        coterie::factor_energies_of_listed<Isa, T>;
    decltype(&coterie::factor_moments<Isa, T>) factor_moments = coterie::factor_moments<Isa, T>;
    // laplacian_kmodes
    decltype(&coterie::update_memberships<Isa, T>) update_memberships = coterie::update_memberships<Isa, T>;
    // convex
    decltype(&coterie::dual_step<Isa, T>) dual_step = coterie::dual_step<Isa, T>;
    decltype(&coterie::primal_points<Isa, T>) primal_points = coterie::primal_points<Isa, T>;
    decltype(&coterie::dual_ascent<Isa, T>) dual_ascent = coterie::dual_ascent<Isa, T>;
    decltype(&coterie::dual_sweep<Isa, T>) dual_sweep = coterie::dual_sweep<Isa, T>;
    decltype(&coterie::fusion_penalty<Isa, T>) fusion_penalty = coterie::fusion_penalty<Isa, T>;
    decltype(&coterie::split_lengths<Isa, T>) split_lengths = coterie::split_lengths<Isa, T>;
    // total_variation
    decltype(&coterie::iterate_primal_dual<Isa, T>) iterate_primal_dual = coterie::iterate_primal_dual<Isa, T>;
    decltype(&coterie::column_statistics<Isa, T>) column_statistics = coterie::column_statistics<Isa, T>;
};

// See quantized.hpp.
struct ByteLimits {
    Index least_columns, least_centers, least_products, bound_columns;
};

template <class Rows, class Isa = void>
struct RowSearches {
    decltype(&coterie::assign<Isa, Rows>) assign = coterie::assign<Isa, Rows>;
    decltype(&coterie::bounded_assign<Isa, Rows>) bounded_assign = coterie::bounded_assign<Isa, Rows>;
};

// Those that use products of bytes, where the instruction set has such products.
template <class T, class Isa = void>
struct SearchesOf : RowSearches<DenseRows<T>, Isa>, RowSearches<CsrRows<T>, Isa> {
    decltype(&coterie::take_batches<Isa, T>) take_batches = coterie::take_batches<Isa, T>;
    decltype(&coterie::nearest_by_bytes<Isa, T>) nearest_by_bytes = coterie::nearest_by_bytes<Isa, T>;
    decltype(&coterie::nearest_in_cells<Isa, T>) nearest_in_cells = coterie::nearest_in_cells<Isa, T>;
    ByteLimits byte_limits{BytesOf<Isa>::kLeastColumns, BytesOf<Isa>::kLeastCenters, BytesOf<Isa>::kLeastProducts,
                           BytesOf<Isa>::kBoundColumns};
};

template <class T>
struct AllKernelsOf : KernelsOf<T>, SearchesOf<T> {};

struct KernelTable {
    const char* instruction_set;
    AllKernelsOf<float> single_precision;
    AllKernelsOf<double> double_precision;

    template <class T>
    const AllKernelsOf<T>& of() const {
        if constexpr (__is_same(T, float)) return single_precision;
        else return double_precision;
    }
    template <class Rows>
    const RowKernels<Rows>& of_rows() const { return of<typename Rows::value_type>(); }
    template <class Rows>
    const RowSearches<Rows>& row_searches() const { return of<typename Rows::value_type>(); }
};

// Defined in cpp/isa, as far as they are compiled. The argument tells the types of numbers apart.
KernelsOf<float> baseline_kernels(float), avx2_kernels(float), avx512_kernels(float);
KernelsOf<double> baseline_kernels(double), avx2_kernels(double), avx512_kernels(double);
SearchesOf<float> baseline_searches(float), avx2_searches(float), avx512_searches(float), avx512vnni_searches(float),
    dotprod_searches(float);
SearchesOf<double> baseline_searches(double), avx2_searches(double), avx512_searches(double),
    avx512vnni_searches(double), dotprod_searches(double);

}  // namespace coterie
