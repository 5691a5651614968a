#include <freeflow/similarity/similarity_choice.h>

#include <charconv>
#include <numeric>
#include <string>

#include <freeflow/similarity/correlation_ratio.h>
#include <freeflow/similarity/lncc.h>
#include <freeflow/similarity/measure_sum.h>
#include <freeflow/similarity/mind.h>
#include <freeflow/similarity/mutual_information.h>
#include <freeflow/similarity/ssd.h>

namespace freeflow {

std::optional<SimilarityKind> parse_similarity(std::string_view name) {
  if (name == "nmi") return SimilarityKind::nmi;
  if (name == "mi") return SimilarityKind::mi;
  if (name == "cr") return SimilarityKind::cr;
  if (name == "ssd") return SimilarityKind::ssd;
  if (name == "lncc") return SimilarityKind::lncc;
  if (name == "mind") return SimilarityKind::mind;
  if (name == "auto") return SimilarityKind::automatic;
  return std::nullopt;
}

std::optional<Estimator> parse_estimator(std::string_view name) {
  if (name == "hard") return Estimator::hard;
  if (name == "parzen") return Estimator::parzen;
  if (name == "parzen_both") return Estimator::parzen_both;
  if (name == "partial_volume") return Estimator::partial_volume;
  return std::nullopt;
}

std::optional<std::vector<SimilarityTerm>> parse_similarity_sum(std::string_view text) {
  std::vector<SimilarityTerm> sum;
  for (bool more = true; more;) {
    const std::size_t plus = text.find('+');
    more = plus != text.npos;
    const std::string_view word = text.substr(0, plus);
    SimilarityTerm term;
    const char *begin = word.data(), *const end = word.data() + word.size();
    if (const auto [next, error] = std::from_chars(begin, end, term.weight); error == std::errc())
      begin = next != end && *next == '*' ? next + 1 : next;
    const std::optional<SimilarityKind> kind = parse_similarity({begin, std::size_t(end - begin)});
    if (!kind || !(term.weight > 0 && term.weight <= 1e6)) return std::nullopt;
    term.kind = *kind;
    sum.push_back(term);
    if (more) text.remove_prefix(plus + 1);
  }
  return sum;
}

std::vector<SimilarityTerm> SimilarityChoice::terms(bool finest) const {
  if (factory) return {};
  std::vector<SimilarityTerm> all;
  for (const SimilarityTerm& t : sum.empty() ? std::vector<SimilarityTerm>{{kind, 1}} : sum) {
    if (t.kind == SimilarityKind::automatic) {
      all.push_back({SimilarityKind::lncc, t.weight});
      all.push_back({SimilarityKind::nmi, 0.3 * t.weight});
      // It finds large motion through bias and lesions; where voxels are small, its patches blur.
      if (!finest) all.push_back({SimilarityKind::mind, 4 * t.weight});
    } else {
      all.push_back(t);
    }
  }
  return all;
}

SimilarityChoice SimilarityChoice::of_level(int above_finest) const {
  SimilarityChoice choice = *this;
  const bool one = sum.empty() && kind != SimilarityKind::automatic;
  if (!factory && !one) choice.sum = terms(above_finest == 0);
  return choice;
}

SimilarityChoice linear_choice(const SimilarityChoice& nonrigid) {
  SimilarityChoice linear = nonrigid;
  for (const SimilarityTerm& t : nonrigid.terms())
    if (t.kind == SimilarityKind::lncc || t.kind == SimilarityKind::mind) {
      linear.sum.clear();
      linear.kind = SimilarityKind::nmi;
    }
  return linear;
}

std::vector<double> channel_shares(const std::vector<double>& weights, std::size_t channels) {
  require(weights.empty() || weights.size() == channels,
          "SimilarityChoice::channel_weights has " + std::to_string(weights.size()) +
              " values for " + std::to_string(channels) + " channels: give one for each, or none");
  std::vector<double> shares = weights;
  if (shares.empty()) shares.assign(channels, 1);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& w : shares) w /= sum;
  return shares;
}

void SimilarityChoice::validate() const {
  for (const double w : channel_weights)
    require(w >= 1e-6 && w <= 1e6,
            "SimilarityChoice::channel_weights must lie between 1e-6 and 1e6; leave a channel out "
            "that is not to count");
  if (factory) return;
  require(bins >= 16 && bins <= 256, "SimilarityChoice::bins must lie between 16 and 256");
  for (const SimilarityTerm& t : sum)
    require(t.weight > 0 && t.weight <= 1e6,
            "SimilarityChoice::sum: weights must be positive and at most 1e6");
  require(sampling == Interpolation::linear || is(SimilarityKind::nmi) || is(SimilarityKind::mi),
          "SimilarityChoice::sampling: cubic sampling is of nmi and mi; the other measures sample "
          "linear");
  make_similarity(*this);
  make_similarity(of_level(1));  // automatic has one measure more there
}

namespace {

std::unique_ptr<SimilarityMeasure> make_one(const SimilarityChoice& c, SimilarityKind kind) {
  const auto information = [&](Information measure) {
    return std::make_unique<MutualInformation>(MutualInformationOptions{
        measure, c.bins, c.bins, c.estimator, c.histogram_scheme, c.sampling});
  };
  switch (kind) {
    case SimilarityKind::nmi: return information(Information::nmi);
    case SimilarityKind::mi: return information(Information::mi);
    case SimilarityKind::cr:
      return std::make_unique<CorrelationRatio>(
          CorrelationRatioOptions{c.bins, c.ratio_scheme, c.ratio_direction, c.border_mm});
    case SimilarityKind::ssd: return std::make_unique<Ssd>();
    case SimilarityKind::lncc:
      return std::make_unique<Lncc>(LnccOptions{LnccWindow::box, c.lncc_radius});
    case SimilarityKind::mind:
      return std::make_unique<Mind>(MindOptions{c.mind_radius, c.mind_dilation});
    case SimilarityKind::automatic: break;  // a sum
  }
  throw InvalidArgument("unknown similarity");
}

}  // namespace

std::unique_ptr<SimilarityMeasure> make_similarity(const SimilarityChoice& c) {
  if (c.factory) return c.factory();
  const std::vector<SimilarityTerm> terms = c.terms();
  if (terms.size() == 1) return make_one(c, terms[0].kind);
  std::vector<MeasureSum::Term> measures;
  for (const SimilarityTerm& t : terms) measures.push_back({make_one(c, t.kind), t.weight});
  return std::make_unique<MeasureSum>(std::move(measures));
}

}  // namespace freeflow
