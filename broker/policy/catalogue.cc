#include "policy/catalogue.h"

#include <algorithm>
#include <array>

#include "policy/path_trie.h"

// Allow by list, never deny by list: dangerous rows are here so that reports and refusals name their class.
namespace credbroker::policy {
namespace {

#define ROW(preset, method, path, effect, body) {Preset::preset, method, path, effect, BodyRule::body},
constexpr CatalogueRow kRows[] = {
#include "policy/catalogue_github.def"
// One a preset; the first is made by tools/github_catalogue.py, the others by hand.
#include "policy/catalogue_gitea.def"
#include "policy/catalogue_gitlab.def"
#include "policy/catalogue_bitbucket.def"
};
#undef ROW

constexpr std::string_view kBodyClasses[] = {"graphql", "write.review_comment", "review.retarget", "workflow.file"};

// How paths of a preset name the repository: the pattern in the table, and what stands for it in a path.
struct Shape {
  Preset preset;
  std::string_view name;
  std::string_view pattern;
  std::string_view prefix;
  bool two_segments;
  std::string_view by_id;  // another prefix, with the host's number of the repository behind it
};
constexpr Shape kShapes[] = {
    {Preset::kGithub, "github", "/repos/{owner}/{repo}", "/repos/", true, "/repositories/"},
    {Preset::kGitea, "gitea", "/repos/{owner}/{repo}", "/repos/", true, "/repositories/"},
    {Preset::kGitlab, "gitlab", "/projects/{project}", "/projects/", false, ""},
    {Preset::kBitbucket, "bitbucket", "/repositories/{owner}/{repo}", "/repositories/", true, ""},
};

const Shape* ShapeOf(Preset preset) {
  const auto* found = std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& s) { return s.preset == preset; });
  return found == std::end(kShapes) ? nullptr : found;
}

// The tables as trees: paths inside a repository, and the host's.
struct Trees {
  std::array<PathTrie, 2> of[std::size(kShapes)];

  Trees() {
    for (const CatalogueRow& row : kRows) {
      const Shape& shape = *ShapeOf(row.preset);
      const bool inside = row.path.starts_with(shape.pattern);
      const std::string_view rest = inside ? row.path.substr(shape.pattern.size()) : row.path;
      of[&shape - kShapes][inside ? 1 : 0].Add(row.method, rest, static_cast<uint32_t>(&row - kRows));
    }
    for (auto& pair : of) {
      for (PathTrie& trie : pair) trie.Seal();
    }
  }
};

const Trees& TheTrees() {
  static const Trees& trees = *new Trees();
  return trees;
}

// `owner/name`, or one segment, from the front of `path`; what is left of it begins with `/` or is empty.
bool TakeRepository(std::string_view path, std::string_view prefix, int segments, Operation* out) {
  if (!path.starts_with(prefix)) return false;
  path.remove_prefix(prefix.size());
  std::size_t end = 0;
  for (int i = 0; i < segments; ++i) {
    const std::size_t start = i == 0 ? 0 : end + 1;
    if (start >= path.size()) return false;
    end = std::min(path.find('/', start), path.size());
    if (end == start) return false;
  }
  out->repository = path.substr(0, end);
  out->rest = path.substr(end);
  return true;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Fills in what the path says of the repository; false = a path of the host.
bool NamesRepository(const Shape& shape, std::string_view path, Operation* out) {
  if (TakeRepository(path, shape.prefix, shape.two_segments ? 2 : 1, out)) {
    if (!shape.two_segments) {
      out->by_id = IsNumber(out->repository);
      out->encoded = !out->by_id;
    }
    return true;
  }
  if (shape.by_id.empty() || !TakeRepository(path, shape.by_id, 1, out) || !IsNumber(out->repository)) return false;
  out->by_id = true;
  return true;
}

}  // namespace

std::optional<Operation> Classify(Preset preset, std::string_view method, std::string_view path) {
  const Shape* shape = ShapeOf(preset);
  if (shape == nullptr || !path.starts_with('/') || path.size() < 2) return std::nullopt;
  if (method == "HEAD") method = "GET";
  Operation out;
  const bool inside = NamesRepository(*shape, path, &out);
  if (!inside) out = Operation{.effect_class = {}, .repository = {}, .rest = path};
  const int row = TheTrees().of[shape - kShapes][inside ? 1 : 0].Find(method, out.rest);
  if (row < 0) return std::nullopt;
  out.effect_class = kRows[row].effect_class;
  out.body = kRows[row].body;
  return out;
}

std::optional<Operation> ClassifyOn(const Service& service, const ServiceHost& host, std::string_view method,
                                    std::string_view path) {
  if (!host.api) return std::nullopt;
  if (path.starts_with(host.api_prefix) && path.substr(host.api_prefix.size()).starts_with('/')) {
    if (auto operation = Classify(service.preset, method, path.substr(host.api_prefix.size()))) return operation;
  }
  if (service.preset != Preset::kGithub) return std::nullopt;
  // GitHub Enterprise serves GraphQL and uploads beside the REST prefix.
  if (path == "/api/graphql") return Classify(service.preset, method, "/graphql");
  constexpr std::string_view kUploads = "/api/uploads";
  if (host.root_api_too && path.starts_with(kUploads)) return Classify(service.preset, method, path.substr(kUploads.size()));
  if (host.root_api_too && path.starts_with("/repos/")) return Classify(service.preset, method, path);
  return std::nullopt;
}

std::span<const CatalogueRow> Catalogue() { return kRows; }

std::string_view PresetName(Preset preset) {
  const Shape* shape = ShapeOf(preset);
  return shape == nullptr ? std::string_view() : shape->name;
}

bool Covers(std::string_view granted, std::string_view effect_class) {
  if (!effect_class.starts_with(granted)) return false;
  return effect_class.size() == granted.size() || effect_class[granted.size()] == '.';
}

bool IsOrdinary(std::string_view effect_class) {
  return effect_class == "read-host" || Covers("read", effect_class) || Covers("write", effect_class);
}

bool IsKnownClass(std::string_view effect_class) {
  return std::any_of(std::begin(kBodyClasses), std::end(kBodyClasses),
                     [&](std::string_view known) { return Covers(effect_class, known); }) ||
         std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const CatalogueRow& row) { return Covers(effect_class, row.effect_class); });
}

std::span<const std::string_view> BodyClasses() { return kBodyClasses; }

}  // namespace credbroker::policy
