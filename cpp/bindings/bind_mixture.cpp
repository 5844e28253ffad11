// The kernels of truncated Gaussian mixtures: argument checks, then the kernel without the interpreter's lock.
#include "blocks.hpp"
#include "centers.hpp"
#include "coterie/mixture/candidates.hpp"
#include "coterie/mixture/moments.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class T>
Index truncated_search(const DenseBlock<T>& rows, In2<T> means, std::optional<In2<T>> scales, In1<T> precisions,
                       In1<T> offsets, Out2<std::int32_t> candidates, Out2<T> energies, Out2<std::int32_t> neighbors,
                       std::optional<In1<std::int32_t>> extra, Index rows_per_tile, bool update_neighbors,
                       bool regroup, int n_threads) {
    const DenseRows<T> x = rows.view();
    const ScaledCenters<T> components = scaled_centers_view(means, scales, precisions, offsets, x.n_columns);
    const Index n = components.n_centers, m = static_cast<Index>(candidates.shape(1));
    const Index n_neighbors = static_cast<Index>(neighbors.shape(1));
    require(m >= 1 && m <= n, "the number of candidates must be between 1 and that of components");
    require(n_neighbors >= 1 && n_neighbors <= n, "the number of neighbors must be between 1 and that of components");
    require_size(candidates, x.n_rows * m, "candidates has the wrong shape");
    require_size(energies, x.n_rows * m, "energies has the wrong shape");
    require_size(neighbors, n * n_neighbors, "neighbors has the wrong shape");
    require(rows_per_tile >= 1 && rows_per_tile <= 512, "rows_per_tile is out of range");
    require_between(candidates, 0, n, "a candidate is out of range");
    require_between(neighbors, 0, n, "a neighbor is out of range");
    for (Index c = 0; c < n; ++c)
        require(neighbors.data()[c * n_neighbors] == c, "neighbors do not begin with the component itself");
    if (extra) {
        require_size(*extra, x.n_rows, "one extra component per row is needed");
        require_between(*extra, 0, n, "an extra component is out of range");
    }
    const TruncatedSearch<T> request{candidates.data(), energies.data(),       m,
                                     neighbors.data(),  n_neighbors,           data_or_null(extra),
                                     rows_per_tile,     update_neighbors,      regroup};
    return kernels().of<T>().truncated_search(x, components, request, n_threads);
}

template <class T>
void truncated_posteriors(In2<T> energies, T negligible, Out2<T> shares, Out1<double> log_densities,
                          int n_threads) {
    const Index n = static_cast<Index>(energies.shape(0)), m = static_cast<Index>(energies.shape(1));
    require(m >= 1, "no candidates");
    require_size(shares, n * m, "shares and energies differ in shape");
    require_size(log_densities, n, "one log-density per row is needed");
    kernels().of<T>().truncated_posteriors(energies.data(), n, m, negligible, shares.data(), log_densities.data(),
                                           n_threads);
}

template <class T>
void mixture_moments(const DenseBlock<T>& rows, In2<std::int32_t> candidates, In2<T> shares, In2<T> energies,
                     std::optional<In1<T>> weights, In2<T> means, Out1<double> masses, Out1<double> energy_sums,
                     Out2<double> first, std::optional<Out2<double>> second, int n_threads) {
    const DenseRows<T> x = rows.view();
    const Index n = static_cast<Index>(means.shape(0)), m = static_cast<Index>(candidates.shape(1));
    require(static_cast<Index>(means.shape(1)) == x.n_columns, "means and rows differ in width");
    require_size(candidates, x.n_rows * m, "candidates has the wrong shape");
    require_size(shares, x.n_rows * m, "shares has the wrong shape");
    require_size(energies, x.n_rows * m, "energies has the wrong shape");
    require_between(candidates, 0, n, "a candidate is out of range");
    if (weights) require_size(*weights, x.n_rows, "one weight per row is needed");
    require_size(masses, n, "one mass per component is needed");
    require_size(energy_sums, n, "one sum of energies per component is needed");
    require_size(first, n * x.n_columns, "first and means differ in shape");
    if (second) require_size(*second, n * x.n_columns, "second and means differ in shape");
    const Shares<T> given{candidates.data(), shares.data(), energies.data(), data_or_null(weights), m};
    kernels().of<T>().mixture_moments(x, given, means.data(), n, masses.data(), energy_sums.data(), first.data(),
                                      second ? second->data() : nullptr, n_threads);
}

template <class T>
void bind_mixture_of(nb::module_& m) {
    m.def("truncated_search", &truncated_search<T>, arg("rows"), arg("means"), arg("scales").none(), arg("precisions"),
          arg("offsets"), arg("candidates"), arg("energies"), arg("neighbors"), arg("extra").none(),
          arg("rows_per_tile"), arg("update_neighbors"), arg("regroup"), arg("n_threads"), Unlocked());
    m.def("truncated_posteriors", &truncated_posteriors<T>, arg("energies").noconvert(), arg("negligible"),
          arg("shares"), arg("log_densities"), arg("n_threads"), Unlocked());
    m.def("mixture_moments", &mixture_moments<T>, arg("rows"), arg("candidates"), arg("shares"), arg("energies"),
          arg("weights").none(), arg("means"), arg("masses"), arg("energy_sums"), arg("first"), arg("second").none(),
          arg("n_threads"), Unlocked());
}

}  // namespace

void bind_mixture(nb::module_& m) {
    bind_mixture_of<float>(m);
    bind_mixture_of<double>(m);
}

}  // namespace coterie
