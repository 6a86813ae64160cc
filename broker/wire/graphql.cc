#include "wire/graphql.h"

#include <algorithm>

#include "base/error.h"
#include "wire/graphql_lexer.h"

// document   := (operation | fragment)+
// operation  := selections | type name? variables? directives selections
// fragment   := "fragment" name "on" name directives selections
// selection  := alias? name arguments? directives selections? | "..." name directives | "..." ("on" name)? directives selections
namespace credbroker::wire {
namespace {

using base::ErrorCode;
using Token = GraphqlLexer::Token;
using Kind = GraphqlValue::Kind;

template <typename List, typename Name>
bool NamesRepeat(const List& list, Name name) {
  std::vector<std::string_view> names;
  for (const auto& item : list) names.push_back(name(item));
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

class Parser {
 public:
  Parser(std::string_view text, const GraphqlLimits& limits) : lexer_(text, limits.max_tokens), limits_(limits) { lexer_.Next(); }

  bool Run(GraphqlDocument* out) {
    while (!At(Token::kEnd)) {
      if (out->operations.size() + out->fragments.size() >= limits_.max_definitions) return false;
      if (!(AtWord("fragment") ? Fragment(&out->fragments.emplace_back()) : Operation(&out->operations.emplace_back()))) return false;
    }
    const auto name = [](const auto& item) -> std::string_view { return item.name; };
    return !NamesRepeat(out->fragments, name) && !NamesRepeat(out->operations, name);
  }

 private:
  bool At(Token token) const { return lexer_.token() == token; }
  bool At(char mark) const { return At(Token::kMark) && lexer_.text()[0] == mark; }
  bool AtWord(std::string_view word) const { return At(Token::kName) && lexer_.text() == word; }
  bool Take(char mark) {
    if (!At(mark)) return false;
    lexer_.Next();
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (!AtWord(word)) return false;
    lexer_.Next();
    return true;
  }
  bool TakeName(std::string* out) {
    if (!At(Token::kName)) return false;
    *out = lexer_.text();
    lexer_.Next();
    return true;
  }

  bool Operation(GraphqlOperation* out) {
    if (!At('{')) {
      if (TakeWord("mutation")) {
        out->type = GraphqlOperation::Type::kMutation;
      } else if (TakeWord("subscription")) {
        out->type = GraphqlOperation::Type::kSubscription;
      } else if (!TakeWord("query")) {
        return false;
      }
      if (At(Token::kName)) TakeName(&out->name);
      if (At('(') && !Variables(out)) return false;
      if (!Directives(&out->directives)) return false;
    }
    return Selections(&out->selections, 0);
  }

  bool Fragment(GraphqlFragment* out) {
    std::string type;
    if (!TakeWord("fragment") || AtWord("on") || !TakeName(&out->name)) return false;
    return TakeWord("on") && TakeName(&type) && Directives(&out->directives) && Selections(&out->selections, 0);
  }

  bool Variables(GraphqlOperation* out) {
    Take('(');
    do {
      auto& [name, value] = out->variables.emplace_back();
      if (!Take('$') || !TakeName(&name) || !Take(':') || !Type(0)) return false;
      if (Take('=') && !Value(&value.emplace(), 0, false)) return false;
      std::vector<GraphqlDirective> none;
      if (!Directives(&none) || !none.empty()) return false;
    } while (!At(')'));
    Take(')');
    return !NamesRepeat(out->variables, [](const auto& v) -> std::string_view { return v.first; });
  }

  bool Type(int depth) {
    std::string name;
    if (depth > limits_.max_depth) return false;
    if (Take('[')) {
      if (!Type(depth + 1) || !Take(']')) return false;
    } else if (!TakeName(&name)) {
      return false;
    }
    Take('!');
    return true;
  }

  bool Directives(std::vector<GraphqlDirective>* out) {
    while (Take('@')) {
      GraphqlDirective& directive = out->emplace_back();
      if (!TakeName(&directive.name) || !Arguments(&directive.arguments)) return false;
    }
    return true;
  }

  bool Arguments(GraphqlArguments* out) {
    if (!Take('(')) return true;
    do {
      auto& [name, value] = out->emplace_back();
      if (!TakeName(&name) || !Take(':') || !Value(&value, 0, true)) return false;
    } while (!At(')'));
    Take(')');
    return !NamesRepeat(*out, [](const GraphqlMember& a) -> std::string_view { return a.name; });
  }

  bool Selections(std::vector<GraphqlSelection>* out, int depth) {
    if (depth > limits_.max_depth || !Take('{')) return false;
    do {
      if (!Selection(&out->emplace_back(), depth)) return false;
    } while (!At('}'));
    return Take('}');
  }

  bool Selection(GraphqlSelection* out, int depth) {
    if (At(Token::kSpread)) return Spread(out, depth);
    if (!TakeName(&out->name)) return false;
    out->key = out->name;
    if (Take(':') && !TakeName(&out->name)) return false;
    if (!Arguments(&out->arguments) || !Directives(&out->directives)) return false;
    return !At('{') || Selections(&out->selections, depth + 1);
  }

  bool Spread(GraphqlSelection* out, int depth) {
    lexer_.Next();
    if (At(Token::kName) && lexer_.text() != "on") {
      out->kind = GraphqlSelection::Kind::kSpread;
      return TakeName(&out->name) && Directives(&out->directives);
    }
    std::string type;
    out->kind = GraphqlSelection::Kind::kInline;
    if (TakeWord("on") && !TakeName(&type)) return false;
    return Directives(&out->directives) && Selections(&out->selections, depth + 1);
  }

  bool Value(GraphqlValue* out, int depth, bool variables) {
    if (depth > limits_.max_depth) return false;
    if (Take('$')) {
      out->kind = Kind::kVariable;
      return variables && TakeName(&out->text);
    }
    if (At('[') || At('{')) return Container(out, depth, variables);
    if (At(Token::kNumber) || At(Token::kString)) {
      out->kind = At(Token::kNumber) ? Kind::kNumber : Kind::kString;
      out->text = lexer_.text();
      lexer_.Next();
      return true;
    }
    if (!TakeName(&out->text)) return false;
    out->kind = out->text == "true" ? Kind::kTrue : out->text == "false" ? Kind::kFalse : out->text == "null" ? Kind::kNull : Kind::kEnum;
    return true;
  }

  bool Container(GraphqlValue* out, int depth, bool variables) {
    const bool object = At('{');
    out->kind = object ? Kind::kObject : Kind::kList;
    lexer_.Next();
    while (!At(object ? '}' : ']')) {
      auto& [name, value] = out->items.emplace_back();
      if (object && (!TakeName(&name) || !Take(':'))) return false;
      if (!Value(&value, depth + 1, variables)) return false;
    }
    lexer_.Next();
    return !object || !NamesRepeat(out->items, [](const GraphqlMember& i) -> std::string_view { return i.name; });
  }

  GraphqlLexer lexer_;
  const GraphqlLimits& limits_;
};

}  // namespace

absl::StatusOr<GraphqlDocument> ParseGraphql(std::string_view text, const GraphqlLimits& limits) {
  GraphqlDocument out;
  if (text.size() > limits.max_bytes || !Parser(text, limits).Run(&out)) return base::Error(ErrorCode::kBadDocument);
  if (out.operations.empty()) return base::Error(ErrorCode::kBadDocument);
  return out;
}

}  // namespace credbroker::wire
