// The kernels of truncated Gaussian mixtures: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "centers.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class T>
using In3 = ArrayOf<const T, 3>;
template <class T>
using Out3 = ArrayOf<T, 3>;

// Checks the arguments of a search with n_rows rows and n components.
template <class T>
TruncatedSearch<T> checked_search(Index n_rows, Index n, const Out2<std::int32_t>& candidates, const Out2<T>& energies,
                                  const Out2<std::int32_t>& neighbors, const std::optional<In1<std::int32_t>>& extra,
                                  Index group_size, bool update_neighbors, bool regroup) {
    const Index m = candidates.shape(1), n_neighbors = neighbors.shape(1);
    require(m >= 1 && m <= n, "the number of candidates must be between 1 and that of components");
    require(n_neighbors >= 1 && n_neighbors <= n, "the number of neighbors must be between 1 and that of components");
    require_size(n_rows * m, "an array has the wrong shape", candidates, energies);
    require_size(n * n_neighbors, "neighbors has the wrong shape", neighbors);
    require(group_size >= 1 && group_size <= 512, "group_size is out of range");
    require_between(0, n, "a candidate is out of range", candidates, neighbors);
    for (Index c = 0; c < n; ++c)
        require(neighbors[c * n_neighbors] == c, "neighbors do not begin with the component itself");
    require_size(n_rows, "one extra component per row is needed", extra);
    if (extra) require_between(0, n, "an extra component is out of range", *extra);
    return {candidates, energies,         m,      neighbors, n_neighbors, data_or_null(extra),
            group_size, update_neighbors, regroup};
}

template <class T>
Index truncated_search(const DenseBlock<T>& rows, In2<T> means, std::optional<In2<T>> scales, In1<T> precisions,
                       In1<T> offsets, Out2<std::int32_t> candidates, Out2<T> energies, Out2<std::int32_t> neighbors,
                       std::optional<In1<std::int32_t>> extra, Index group_size, bool update_neighbors, bool regroup,
                       int n_threads) {
    const DenseRows<T> x = rows.view();
    const ScaledCenters<T> components = scaled_centers_view(means, scales, precisions, offsets, x.n_columns);
    const TruncatedSearch<T> search = checked_search(x.n_rows, components.n_centers, candidates, energies, neighbors,
                                                     extra, group_size, update_neighbors, regroup);
    return kernels().of<T>().truncated_search(x, components, search, n_threads);
}

template <class T>
FactorComponents<T> factor_components_view(const In2<T>& means, const In2<T>& scales, const In3<T>& directions,
                                           const std::optional<In2<T>>& shrinkages,
                                           const std::optional<In1<T>>& offsets, Index n_columns) {
    const Index n = means.shape(0), h = directions.shape(1);
    require(means.shape(1) == n_columns, "means and rows differ in width");
    require(n >= 1, "no components");
    require_size(n * n_columns, "scales and means differ in shape", scales);
    require(directions.shape(0) == n, "directions of each component are needed");
    require(directions.shape(2) == ceil_div(n_columns, kLanes<T>) * kLanes<T>,
            "directions must be padded to whole cache lines");
    require_size(n * h, "one shrinkage per direction is needed", shrinkages);
    require_size(n, "one offset per component is needed", offsets);
    return {means, scales, directions, data_or_null(shrinkages), data_or_null(offsets), n, n_columns, h};
}

template <class T>
Index factor_search(const DenseBlock<T>& rows, In2<T> means, In2<T> scales, In3<T> directions, In2<T> shrinkages,
                    In1<T> offsets, Out2<std::int32_t> candidates, Out2<T> energies, Out2<std::int32_t> neighbors,
                    std::optional<In1<std::int32_t>> extra, Index group_size, bool update_neighbors, bool regroup,
                    int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components = factor_components_view<T>(means, scales, directions, shrinkages, offsets, x.n_columns);
    const TruncatedSearch<T> search = checked_search(x.n_rows, components.n_components, candidates, energies, neighbors,
                                                     extra, group_size, update_neighbors, regroup);
    return kernels().of<T>().factor_search(x, components, search, n_threads);
}

template <class T>
void factor_energies(const DenseBlock<T>& rows, In2<T> means, In2<T> scales, In3<T> directions, In2<T> shrinkages,
                     In1<T> offsets, In1<std::int32_t> ids, Out2<T> energies, int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components = factor_components_view<T>(means, scales, directions, shrinkages, offsets, x.n_columns);
    const Index m = ids.shape(0);
    require_between(0, components.n_components, "a component is out of range", ids);
    require_size(x.n_rows * m, "energies has the wrong shape", energies);
    kernels().of<T>().factor_energies(x, components, ids, m, energies, n_threads);
}

template <class T>
void factor_energies_of_listed(const DenseBlock<T>& rows, In2<T> means, In2<T> scales, In3<T> directions,
                               In2<T> shrinkages, In1<T> offsets, Out2<std::int32_t> ids, Out2<T> energies,
                               int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components = factor_components_view<T>(means, scales, directions, shrinkages, offsets, x.n_columns);
    const Index m = ids.shape(1);
    require(m >= 1, "no components are listed");
    require_size(x.n_rows * m, "an array has the wrong shape", ids, energies);
    require_between(0, components.n_components, "a component is out of range", ids);
    kernels().of<T>().factor_energies_of_listed(x, components, m, ids, energies, n_threads);
}

template <class T>
void factor_moments(const DenseBlock<T>& rows, In2<std::int32_t> candidates, In2<T> shares,
                    std::optional<In1<T>> weights, In2<T> means, In2<T> scales, In3<T> directions, Out1<double> masses,
                    Out2<double> first, Out2<double> second, Out3<double> cross, Out2<double> projections,
                    Out3<double> outer, int n_threads) {
    const DenseRows<T> x = rows.view();
    const auto components =
        factor_components_view<T>(means, scales, directions, std::nullopt, std::nullopt, x.n_columns);
    const Index n = components.n_components, m = candidates.shape(1), h = components.n_factors;
    require_size(x.n_rows * m, "an array has the wrong shape", candidates, shares);
    require_between(0, n, "a candidate is out of range", candidates);
    require_size(x.n_rows, "one weight per row is needed", weights);
    require_size(n, "one mass per component is needed", masses);
    require_size(n * x.n_columns, "an array has the wrong shape", first, second);
    require_size(n * h * x.n_columns, "cross has the wrong shape", cross);
    require_size(n * h, "projections has the wrong shape", projections);
    require_size(n * h * h, "outer has the wrong shape", outer);
    const FactorMoments out{masses, first, second, cross, projections, outer};
    kernels().of<T>().factor_moments(x, candidates, shares, data_or_null(weights), m, components, out, n_threads);
}

template <class T>
void truncated_posteriors(In2<T> energies, T negligible, Out2<T> shares, Out1<double> log_densities, int n_threads) {
    const Index n = energies.shape(0), m = energies.shape(1);
    require(m >= 1, "no candidates");
    require_size(n * m, "shares and energies differ in shape", shares);
    require_size(n, "one log-density per row is needed", log_densities);
    kernels().of<T>().truncated_posteriors(energies, n, m, negligible, shares, log_densities, n_threads);
}

template <class T>
void mixture_moments(const DenseBlock<T>& rows, In2<std::int32_t> candidates, In2<T> shares, In2<T> energies,
                     std::optional<In1<T>> weights, In2<T> means, Out1<double> masses, Out1<double> energy_sums,
                     Out2<double> first, std::optional<Out2<double>> second, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n = means.shape(0), m = candidates.shape(1);
    require(means.shape(1) == x.n_columns, "means and rows differ in width");
    require_size(x.n_rows * m, "an array has the wrong shape", candidates, shares, energies);
    require_between(0, n, "a candidate is out of range", candidates);
    require_size(x.n_rows, "one weight per row is needed", weights);
    require_size(n, "one number per component is needed", masses, energy_sums);
    require_size(n * x.n_columns, "an array has the wrong shape", first, second);
    const Shares<T> given{candidates, shares, energies, data_or_null(weights), m};
    kernels().of<T>().mixture_moments(x, given, means, n, masses, energy_sums, first, data_or_null(second), n_threads);
}

template <class T>
void bind_mixture_of(nb::module_& m) {
    m.def("truncated_search", &truncated_search<T>, Unlocked());
    m.def("truncated_posteriors", &truncated_posteriors<T>, Unlocked());
    m.def("mixture_moments", &mixture_moments<T>, Unlocked());
    m.def("factor_search", &factor_search<T>, Unlocked());
    m.def("factor_energies", &factor_energies<T>, Unlocked());
    m.def("factor_energies_of_listed", &factor_energies_of_listed<T>, Unlocked());
    m.def("factor_moments", &factor_moments<T>, Unlocked());
}

}  // namespace

void bind_mixture(nb::module_& m) {
    bind_mixture_of<float>(m);
    bind_mixture_of<double>(m);
}

}  // namespace coterie
