// The kernels as function pointers: a table per instruction set, one of them chosen when the module is loaded.
// A field has the name and the type of its kernel, whose header documents the arguments.
#pragma once

#include "coterie/centers/assign.hpp"
#include "coterie/centers/bounded.hpp"
#include "coterie/centers/listed.hpp"
#include "coterie/centers/mean_batches.hpp"
#include "coterie/centers/nearest.hpp"
#include "coterie/centers/own_distances.hpp"
#include "coterie/centers/positions.hpp"
#include "coterie/centers/running_means.hpp"
#include "coterie/centers/sums.hpp"
#include "coterie/convex/dual_ascent.hpp"
#include "coterie/convex/dual_step.hpp"
#include "coterie/convex/dual_sweep.hpp"
#include "coterie/convex/edge_lengths.hpp"
#include "coterie/convex/primal_points.hpp"
#include "coterie/graphs/nearest_apart.hpp"
#include "coterie/graphs/nearest_by_bytes.hpp"
#include "coterie/graphs/nearest_in_cells.hpp"
#include "coterie/graphs/nearest_of_candidates.hpp"
#include "coterie/graphs/nearest_reachable.hpp"
#include "coterie/graphs/products.hpp"
#include "coterie/laplacian_kmodes/memberships.hpp"
#include "coterie/mixture/moments.hpp"
#include "coterie/mixture/posteriors.hpp"
#include "coterie/mixture/search.hpp"
#include "coterie/seeding/pools.hpp"
#include "coterie/size_constrained/least_of_lists.hpp"
#include "coterie/total_variation/column_statistics.hpp"
#include "coterie/total_variation/primal_dual.hpp"

namespace coterie {

// Types of kernels do not depend on the instruction set that they are compiled for.
using AnyIsa = PlainIsa<16, 2>;

// Of dense or of sparse rows.
template <class Rows>
struct RowKernels {
    using T = typename Rows::value_type;
    // centers
    decltype(coterie::nearest<AnyIsa, Rows>)* nearest;
    decltype(coterie::add_to_clusters<AnyIsa, Rows>)* add_to_clusters;
    decltype(coterie::own_square_distances<AnyIsa, Rows>)* own_square_distances;
    // seeding
    decltype(coterie::pairs_in_reach<AnyIsa, Rows>)* pairs_in_reach;
};

template <class T>
struct KernelsOf {
    RowKernels<DenseRows<T>> dense_rows;
    RowKernels<CsrRows<T>> sparse_rows;
    // centers
    decltype(coterie::move_centers<AnyIsa, T>)* move_centers;
    decltype(coterie::relate_centers<AnyIsa, T>)* relate_centers;
    decltype(coterie::move_means_by_sums<AnyIsa, T>)* move_means_by_sums;
    decltype(coterie::compare_centers<AnyIsa, T, T>)* compare_centers;
    decltype(coterie::compare_centers<AnyIsa, double, T>)* compare_centers_of_doubles;
    decltype(coterie::distances_to_listed<AnyIsa, T>)* distances_to_listed;
    decltype(coterie::least_of_lists<AnyIsa, T>)* least_of_lists;
    // graphs
    decltype(coterie::nearest_apart<AnyIsa, T>)* nearest_apart;
    decltype(coterie::products<AnyIsa, T>)* products;
    decltype(coterie::cells_in_reach<AnyIsa, T>)* cells_in_reach;
    decltype(coterie::nearest_in_cells<AnyIsa, T>)* nearest_in_cells;
    decltype(coterie::nearest_of_candidates<AnyIsa, T>)* nearest_of_candidates;
    decltype(coterie::box_tree<AnyIsa, T>)* box_tree;
    decltype(coterie::nearest_reachable<AnyIsa, T>)* nearest_reachable;
    // mixture
    decltype(coterie::truncated_search<AnyIsa, T>)* truncated_search;
    decltype(coterie::truncated_posteriors<AnyIsa, T>)* truncated_posteriors;
    decltype(coterie::mixture_moments<AnyIsa, T>)* mixture_moments;
    decltype(coterie::factor_search<AnyIsa, T>)* factor_search;
    decltype(coterie::factor_energies<AnyIsa, T>)* factor_energies;
    decltype(coterie::factor_energies_of_listed<AnyIsa, T>)* factor_energies_of_listed;
    decltype(coterie::factor_moments<AnyIsa, T>)* factor_moments;
    // laplacian_kmodes
    decltype(coterie::update_memberships<AnyIsa, T>)* update_memberships;
    // convex
    decltype(coterie::dual_step<AnyIsa, T>)* dual_step;
    decltype(coterie::primal_points<AnyIsa, T>)* primal_points;
    decltype(coterie::dual_ascent<AnyIsa, T>)* dual_ascent;
    decltype(coterie::dual_sweep<AnyIsa, T>)* dual_sweep;
    decltype(coterie::fusion_penalty<AnyIsa, T>)* fusion_penalty;
    decltype(coterie::split_lengths<AnyIsa, T>)* split_lengths;
    // total_variation
    decltype(coterie::iterate_primal_dual<AnyIsa, T>)* iterate_primal_dual;
    decltype(coterie::column_statistics<AnyIsa, T>)* column_statistics;
};

// See quantized.hpp.
struct ByteLimits {
    Index least_columns, least_centers, least_products, bound_columns;
};

template <class Rows>
struct RowSearches {
    using T = typename Rows::value_type;
    decltype(coterie::assign<AnyIsa, Rows>)* assign;
    decltype(coterie::bounded_assign<AnyIsa, Rows>)* bounded_assign;
};

// Those by products of bytes, where the instruction set has such products.
template <class T>
struct SearchesOf {
    RowSearches<DenseRows<T>> dense_rows;
    RowSearches<CsrRows<T>> sparse_rows;
    decltype(coterie::take_batches<AnyIsa, T>)* take_batches;
    decltype(coterie::nearest_by_bytes<AnyIsa, T>)* nearest_by_bytes;
    ByteLimits byte_limits;
};

struct KernelTable {
    const char* instruction_set;
    const KernelsOf<float>& single_precision;
    const KernelsOf<double>& double_precision;
    const SearchesOf<float>& single_searches;
    const SearchesOf<double>& double_searches;

    template <class T>
    const KernelsOf<T>& of() const {
        if constexpr (__is_same(T, float)) return single_precision;
        else return double_precision;
    }
    template <class T>
    const SearchesOf<T>& searches() const {
        if constexpr (__is_same(T, float)) return single_searches;
        else return double_searches;
    }
    template <class Rows>
    const RowSearches<Rows>& row_searches() const {
        using T = typename Rows::value_type;
        if constexpr (__is_same(Rows, DenseRows<T>)) return searches<T>().dense_rows;
        else return searches<T>().sparse_rows;
    }
    template <class Rows>
    const RowKernels<Rows>& of_rows() const {
        using T = typename Rows::value_type;
        if constexpr (__is_same(Rows, DenseRows<T>)) return of<T>().dense_rows;
        else return of<T>().sparse_rows;
    }
};

// Defined in cpp/isa, as far as they are compiled. The argument tells the types of numbers apart.
const KernelsOf<float>& baseline_kernels(float);
const KernelsOf<double>& baseline_kernels(double);
const KernelsOf<float>& avx2_kernels(float);
const KernelsOf<double>& avx2_kernels(double);
const KernelsOf<float>& avx512_kernels(float);
const KernelsOf<double>& avx512_kernels(double);
const SearchesOf<float>& baseline_searches(float);
const SearchesOf<double>& baseline_searches(double);
const SearchesOf<float>& avx2_searches(float);
const SearchesOf<double>& avx2_searches(double);
const SearchesOf<float>& avx512_searches(float);
const SearchesOf<double>& avx512_searches(double);
const SearchesOf<float>& avx512vnni_searches(float);
const SearchesOf<double>& avx512vnni_searches(double);
const SearchesOf<float>& dotprod_searches(float);
const SearchesOf<double>& dotprod_searches(double);

}  // namespace coterie
