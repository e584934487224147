// Log-probabilities, gradients and samples of a small Llama, Qwen2 or Qwen3 decoder: float32, one thread, no padding.
//
// The trie. Rollouts of one prompt often begin alike. Every token with a successor is a node, and equal beginnings are
// the same nodes: a position's hidden state depends on what precedes it alone. Sorted by their tokens, each rollout
// shares a beginning with the one before it and owns the nodes that follow, which lie side by side (a `Row`). A walk
// over the rows keeps the keys and values of the present path in one stack: a row replaces its end. So attention of a
// row is two matrix products, without masks but for the future, and no ancestor is copied.
//
// Because of the order of sums in lanes.h, a log-probability or a sample depends on neither its batch nor its
// neighbours, and a gradient on nothing but the batch.
//
// Letters: D hidden size, H query heads, K key-value heads, E head dimension, F width of the MLP, Q = (H + 2 K) E,
// M nodes. Each is padded to a multiple of 16 lanes with zeros that stay zero. Weights and gradients cross the border
// without padding, as one flat array, whose runs lie in the padded ones (`Model.runs` in model.py).

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>

#include "lanes.h"

#define API extern "C" __attribute__((visibility("default")))

namespace {

// ---- weights ----

struct Matrix {  // w: rows x columns as in transformers (out x in), padded; t: w transposed; g: the gradient
  int rows = 0, columns = 0, ldt = 0;
  float *w = nullptr, *g = nullptr;
  Floats t;
  void turn() {
    for (int r = 0; r < (t.empty() ? 0 : rows); r++)
      for (int c = 0; c < columns; c++) t[size_t(c) * ldt + r] = w[size_t(r) * columns + c];
  }
  // y (M x rows) = x w^T
  void apply(int M, const float* x, float* y, bool add = false, const float* bias = nullptr) const {
    product(M, rows, columns, {x, columns, 1}, t.data(), ldt, y, rows, add, bias);
  }
  // dx (M x columns) = dy w; g += dy^T x
  void back(int M, const float* dy, const float* x, float* dx) {
    product(rows, columns, M, {dy, 1, rows}, x, columns, g, columns, true);
    product(M, columns, rows, {dy, rows, 1}, w, columns, dx, columns);
  }
};
struct Layer {
  Matrix qkv, bias, q_norm, k_norm, o, gate_up, down, norm1, norm2;
};

struct Run {  // weights that lie side by side, in the flat array and from `place` on in the padded one
  int64_t place, length;
};
struct Row {  // nodes `node` to `end` - 1, which no rollout before shares; the first is at position `start`
  int node, end, start;
};
struct Block {  // consecutive prompts whose activations fit into a cache; a head is a node that predicts a token
  int node0, node1, row0, row1, head0, head1, response0, response1;
};
constexpr int BLOCK_NODES = 192;      // a block ends with the prompt that reaches it
constexpr int SAMPLED_ROLLOUTS = 128;  // as many prompts are sampled at once as have so many; half as many by a model
constexpr size_t LARGE = 1 << 22;     // that no cache holds

struct View {  // what a layer's backward pass reads, from a block's first node on; r: factors of RMSNorm
  float *h, *r1, *raw, *rn, *qkv, *attended, *lse, *middle, *r2, *gate_up;
};
struct Samples {  // the outputs of `sample`, P x G x T or P x G
  int64_t* tokens;
  float *logp, *entropy;
  int64_t* lengths;
  uint8_t* finished;
};
struct Branches {  // of sampling: equal rollouts share one, and each has a slot with its keys and values
  int wide = 0;    // positions of a slot
  Floats h, n, r, qkv, attended, gate_up, act, scores;
  std::vector<int> token, at, slot;  // of each branch: its newest token, the token's position, its slot
};

}  // namespace

struct Shape {
  int32_t hidden, heads, kv_heads, head_dim, ffn, layers, vocab, norms, tied;
  float epsilon;
};

struct Engine {
  const Shape shape;
  const int D, H, K, E, F, Q, vocab, vocab_wide;
  std::vector<Layer> layers;
  Matrix norm, embedding, head, value, value_bias;
  std::vector<Matrix*> matrices;  // in the order of the padded weights
  Floats weights, gradients;
  std::vector<float> cosine, sine;  // positions x head_dim / 2

  std::vector<int> token, position, heads;  // of each node; the node of each head
  std::vector<Row> rows;
  std::vector<Block> blocks;
  std::vector<int> predictor, next;  // of each token of the responses: the head that predicts it, or -1; the token
  std::vector<int> responses;        // of each block in turn
  int longest = 0, most_nodes = 0, most_heads = 0, width = 0;  // width: tokens of a response, with padding

  Floats kept;  // what training keeps of each layer and node or, while sampling, what each slot does: never both
  Branches branches;
  Floats normed, active, head_h, head_r, head_n, logits, head_lse;         // forward
  Floats keys, keys_t, values, values_t, queries, scores, dqueries, dscores, dkeys, dvalues, douts;  // attention
  Floats dlogits, dhead, dh, dinner, dgate_up, dqkv;                       // backward
  Floats sampled_logits, sampled_logp, sampled_cumulative, shaped;         // sampling
  std::vector<int> path;

  explicit Engine(const Shape& s)
      : shape(s), D(padded(s.hidden)), H(s.heads), K(s.kv_heads), E(padded(s.head_dim)), F(padded(s.ffn)),
        Q((H + 2 * K) * E), vocab(s.vocab), vocab_wide(padded(s.vocab)), layers(s.layers) {
    size_t total = 0;
    auto take = [&](Matrix& m, int r, int c, bool turned) {
      m.rows = r, m.columns = c, m.ldt = r + LANES;  // a power of two would map all rows to a few sets of the cache
      if (turned) m.t.assign(size_t(m.ldt) * c, 0.f);
      matrices.push_back(&m), total += size_t(r) * c;
    };
    for (Layer& y : layers) {
      take(y.qkv, Q, D, true), take(y.bias, 1, Q, false), take(y.q_norm, 1, E, false), take(y.k_norm, 1, E, false);
      take(y.o, D, H * E, true), take(y.gate_up, 2 * F, D, true), take(y.down, D, F, true);
      take(y.norm1, 1, D, false), take(y.norm2, 1, D, false);
    }
    take(norm, 1, D, false), take(embedding, vocab_wide, D, s.tied), take(head, s.tied ? 0 : vocab_wide, D, !s.tied);
    take(value, 1, D, false), take(value_bias, 1, LANES, false);
    weights.assign(total, 0.f), total = 0;
    for (Matrix* m : matrices) m->w = weights.data() + total, total += size_t(m->rows) * m->columns;
  }
  void clear_gradients() {  // a model that is not trained has none
    gradients.assign(weights.size(), 0.f);
    for (Matrix* m : matrices) m->g = gradients.data() + (m->w - weights.data());
  }
  Matrix& words() { return shape.tied ? embedding : head; }
  void load_weights(long count, const Run* runs, const float* flat) {
    for (long i = 0; i < count; flat += runs[i++].length)
      memcpy(&weights[runs[i].place], flat, sizeof(float) * runs[i].length);
    for (Matrix* m : matrices) m->turn();
  }

  // ---- the trie ----

  // N responses (N x T, padded on the right) to prompts (P x L), each with the index of its prompt.
  void grow(int L, int N, int T, const int64_t* prompts, const int64_t* prompt_lengths, const int64_t* prompt_of,
            const int64_t* tokens, const int64_t* lengths) {
    token.clear(), position.clear(), rows.clear(), blocks.clear(), heads.clear();
    predictor.assign(size_t(N) * T, -1), next.assign(size_t(N) * T, 0);
    longest = most_nodes = most_heads = 0, width = T;
    auto nodes_of = [&](int n) { return int(lengths[n]) - 1; };  // the last token has no successor
    // Where the nodes of two responses to one prompt part.
    auto fork = [&](int a, int b) {
      const int64_t *x = tokens + long(a) * T, *y = tokens + long(b) * T;
      return int(std::mismatch(x, x + std::min(nodes_of(a), nodes_of(b)), y).first - x);
    };
    std::vector<int> order, head_at;  // head_at: the heads of the present path, from the prompt's last token on
    for (int n = 0; n < N; n++)
      if (lengths[n] > 0) order.push_back(n);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      if (prompt_of[a] != prompt_of[b]) return prompt_of[a] < prompt_of[b];
      const int i = fork(a, b), m = nodes_of(a), n = nodes_of(b);
      if (i < m && i < n) return tokens[long(a) * T + i] < tokens[long(b) * T + i];
      return m != n ? m < n : a < b;
    });
    auto add = [&](int64_t word, int at) {
      token.push_back(int(word)), position.push_back(at);
      longest = std::max(longest, at + 1);
    };
    for (size_t k = 0; k < order.size(); k++) {
      const int n = order[k], start = int(prompt_lengths[prompt_of[n]]), node = int(token.size());
      const bool fresh = k == 0 || prompt_of[order[k - 1]] != prompt_of[n];
      const int shared = fresh ? 0 : fork(n, order[k - 1]);
      if (fresh) {
        if (blocks.empty() || node - blocks.back().node0 >= BLOCK_NODES)
          blocks.push_back({node, 0, int(rows.size()), 0, int(heads.size()), 0, int(k), 0});
        for (int i = 0; i < start; i++) add(prompts[prompt_of[n] * L + i], i);
        head_at.assign(1, int(heads.size())), heads.push_back(int(token.size()) - 1);
      }
      head_at.resize(shared + 1);
      for (int t = shared; t < nodes_of(n); t++) {
        head_at.push_back(int(heads.size())), heads.push_back(int(token.size()));
        add(tokens[long(n) * T + t], start + t);
      }
      if (int(token.size()) > node) rows.push_back({node, int(token.size()), fresh ? 0 : start + shared});
      for (long t = 0, i = long(n) * T; t < lengths[n]; t++) predictor[i + t] = head_at[t], next[i + t] = int(tokens[i + t]);
      Block& b = blocks.back();
      b.node1 = int(token.size()), b.row1 = int(rows.size()), b.head1 = int(heads.size()), b.response1 = int(k + 1);
      most_nodes = std::max(most_nodes, b.node1 - b.node0), most_heads = std::max(most_heads, b.head1 - b.head0);
    }
    responses.swap(order);
    for (const Block& b : blocks) std::sort(&responses[b.response0], responses.data() + b.response1);
  }
  // f(i, p) for each token i of a block's responses, p the head of the block that predicts it.
  template <class F>
  void each_token(const Block& b, F f) const {
    for (int k = b.response0; k < b.response1; k++)
      for (size_t i = size_t(responses[k]) * width, end = i + width; i < end && predictor[i] >= 0; i++) f(i, predictor[i] - b.head0);
  }

  // ---- a layer ----

  // Of layer l, where each has so many nodes; after the last one there is h alone.
  View view(int l, int nodes, long at) {
    const int normed_heads = shape.norms ? H + K : 0;
    const int widths[] = {D, 1, normed_heads * E, normed_heads, Q, H * E, H, D, 1, 2 * F};
    const size_t wide = padded(nodes), each = wide * std::accumulate(std::begin(widths), std::end(widths), 0);
    float *next_of = room(kept, l * each + (l < shape.layers ? each : wide * D)) + l * each, *from[std::size(widths)];
    for (size_t i = 0; i < std::size(widths); next_of += wide * widths[i++]) from[i] = next_of + at * widths[i];
    return {from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7], from[8], from[9]};
  }
  void embed(int M, const int* word, float* h) {
    for (long m = 0; m < M; m++) memcpy(h + m * D, embedding.w + size_t(word[m]) * D, sizeof(float) * D);
  }
  // RMSNorm of M hidden states, whose factors are kept in r, or (`again`) taken from it.
  void norm_rows(int M, const float* x, const Matrix& w, float* r, float* out, bool again = false) {
    for (long m = 0; m < M; m++) {
      if (!again) r[m] = rms(x + m * D, D, shape.hidden, shape.epsilon);
      scale(x + m * D, r[m], w.w, D, out + m * D);
    }
  }
  void norm_rows_back(int M, const float* dy, const float* x, const float* r, Matrix& w, float* dx) {
    for (long m = 0; m < M; m++) rms_back(dy + m * D, x + m * D, r[m], w.w, D, shape.hidden, dx + m * D, w.g, true);
  }
  // The first half: queries, keys and values of M hidden states, with norms of heads and positions.
  void project(int M, const Layer& y, const float* h, const int* positions, float* r, float* qkv, float* raw, float* rn) {
    norm_rows(M, h, y.norm1, r, normed.data());
    y.qkv.apply(M, normed.data(), qkv, false, y.bias.w);
    for (long m = 0; shape.norms && m < M; m++)
      for (int i = 0; i < H + K; i++) {
        float *x = qkv + m * Q + i * E, factor = rms(x, E, shape.head_dim, shape.epsilon);
        if (raw) memcpy(raw + (m * (H + K) + i) * E, x, sizeof(float) * E), rn[m * (H + K) + i] = factor;
        scale(x, factor, (i < H ? y.q_norm : y.k_norm).w, E, x);
      }
    rotate(M, qkv, positions, 1.f);
  }
  // Rotary embedding, or with sign -1 its inverse; queries are also scaled for the scores.
  void rotate(int M, float* qkv, const int* positions, float sign) {
    const int half = shape.head_dim / 2;
    const float of_scores = 1.f / std::sqrt(float(shape.head_dim));
    for (long m = 0; m < M; m++) {
      const float *c = &cosine[size_t(positions[m]) * half], *s = &sine[size_t(positions[m]) * half];
      for (int h = 0; h < H + K; h++) {
        float *x = qkv + m * Q + h * E, factor = h < H ? of_scores : 1.f;
        int i = 0;
        for (; i + 8 <= half; i += 8) {
          const Eight low = eight(x + i) * factor, high = eight(x + i + half) * factor, cs = eight(c + i), sn = eight(s + i) * sign;
          put(x + i, low * cs - high * sn), put(x + i + half, high * cs + low * sn);
        }
        for (; i < half; i++) {
          const float low = x[i] * factor, high = x[i + half] * factor, sn = s[i] * sign;
          x[i] = low * c[i] - high * sn, x[i + half] = high * c[i] + low * sn;
        }
      }
    }
  }
  // The second half: h = middle + down(silu(gate) up), after middle += o(attended). They may be one array.
  void finish(int M, const Layer& y, const float* attended, float* middle, float* r, float* gate_up, float* h) {
    y.o.apply(M, attended, middle, true);
    norm_rows(M, middle, y.norm2, r, normed.data());
    y.gate_up.apply(M, normed.data(), gate_up);
    float* act = room(active, size_t(M) * F);
    for (long m = 0; m < M; m++)
      for (int i = 0; i < F; i += LANES) {
        const V gate = load(gate_up + m * 2 * F + i), up = load(gate_up + m * 2 * F + F + i);
        store(act + m * F + i, gate * sigmoid(gate) * up);
      }
    if (h != middle) memcpy(h, middle, sizeof(float) * M * D);
    y.down.apply(M, act, h, true);
  }
  // From the gradient of a layer's output to that of its input, in dh.
  void layer_back(const Block& b, Layer& y, const View& v) {
    const int M = b.node1 - b.node0;
    float *inner = dinner.data(), *act = active.data(), *dgu = dgate_up.data(), *d_h = dh.data(), *dq = dqkv.data();
    product(M, F, D, {d_h, D, 1}, y.down.w, F, inner, F);
    for (long m = 0; m < M; m++)
      for (int i = 0; i < F; i += LANES) {
        soon(v.gate_up + (m + 4) * 2 * F + i), soon(v.gate_up + (m + 4) * 2 * F + F + i);  // out of the caches by now
        const V gate = load(v.gate_up + m * 2 * F + i), up = load(v.gate_up + m * 2 * F + F + i);
        const V d = load(inner + m * F + i), s = sigmoid(gate), silu = gate * s;
        store(act + m * F + i, silu * up);
        store(dgu + m * 2 * F + F + i, d * silu);
        store(dgu + m * 2 * F + i, d * up * (s + silu * (all(1.f) - s)));
      }
    product(D, F, M, {d_h, 1, D}, act, F, y.down.g, F, true);
    norm_rows(M, v.middle, y.norm2, v.r2, normed.data(), true);
    y.gate_up.back(M, dgu, normed.data(), inner);
    norm_rows_back(M, inner, v.middle, v.r2, y.norm2, d_h);
    y.o.back(M, d_h, v.attended, inner);
    attend_back(b, v, inner, dq);
    rotate(M, dq, &position[b.node0], -1.f);
    for (long m = 0; m < M; m++) {
      for (int i = 0; shape.norms && i < H + K; i++) {
        Matrix& w = i < H ? y.q_norm : y.k_norm;
        float *d = dq + m * Q + i * E, *raw = v.raw + (m * (H + K) + i) * E;
        rms_back(d, raw, v.rn[m * (H + K) + i], w.w, E, shape.head_dim, d, w.g, false);
      }
      for (int i = 0; i < Q; i += LANES) store(y.bias.g + i, load(y.bias.g + i) + load(dq + m * Q + i));
    }
    norm_rows(M, v.h, y.norm1, v.r1, normed.data(), true);
    y.qkv.back(M, dq, normed.data(), inner);
    norm_rows_back(M, inner, v.h, v.r1, y.norm1, d_h);
  }

  // ---- attention over the rows of a block; arrays begin at its first node ----

  // Puts a row's own keys and values on the stack, transposed and (for `back`) not; returns the length of its path.
  int push(const Row& row, int node0, int kv, const float* qkv, int wide, bool back) {
    const int length = row.start + row.end - row.node;
    for (int s = row.start; s < length; s++) {
      const int node = row.node - node0 + s - row.start;
      const float *k = qkv + long(node) * Q + (H + kv) * E, *v = k + K * E;
      for (int e = 0; e < E; e++) keys_t[size_t(e) * wide + s] = k[e];
      memcpy(&values[size_t(s) * E], v, sizeof(float) * E);
      if (!back) continue;
      for (int e = 0; e < E; e++) values_t[size_t(e) * wide + s] = v[e], dkeys[size_t(s) * E + e] = 0.f;
      memcpy(&keys[size_t(s) * E], k, sizeof(float) * E), memset(&dvalues[size_t(s) * E], 0, sizeof(float) * E);
      path[s] = node;
    }
    return length;
  }
  void attend(const Block& b, const View& v, bool keep) {
    const int wide = padded(longest);
    const int group = H / K;
    room(keys_t, size_t(E) * wide), room(values, size_t(wide) * E), room(scores, size_t(group) * wide * wide);
    room(queries, size_t(group) * wide * E), room(douts, size_t(group) * wide * E);
    for (int kv = 0; kv < K; kv++)
      for (int i = b.row0; i < b.row1; i++) {
        const Row& row = rows[i];
        const int length = push(row, b.node0, kv, v.qkv, wide, false), own = row.end - row.node, seen = padded(length);
        const long at = row.node - b.node0;
        stack(own, group, v.qkv + at * Q + kv * group * E, Q, queries.data());
        product(own * group, seen, E, {queries.data(), E, 1}, keys_t.data(), wide, scores.data(), seen);
        for (int j = 0; j < own; j++)
          for (int h = 0; h < group; h++) {
            float* s = &scores[size_t(j * group + h) * seen];
            const Sums sums = softmax(s, row.start + j + 1, seen, s);
            if (keep) v.lse[(at + j) * H + kv * group + h] = sums.log();
          }
        product(own * group, E, length, {scores.data(), seen, 1}, values.data(), E, douts.data(), E);
        for (int j = 0; j < own; j++)
          memcpy(v.attended + ((at + j) * H + kv * group) * E, &douts[size_t(j) * group * E], sizeof(float) * group * E);
      }
  }
  // The vectors of a group of heads, row by row: they share keys and values.
  void stack(int rows, int group, const float* from, long stride, float* to) const {
    for (long j = 0; j < rows; j++) memcpy(to + j * group * E, from + j * stride, sizeof(float) * group * E);
  }
  // Fills dqkv from the gradient of the attended values. Gradients of keys and values add up on the stack.
  void attend_back(const Block& b, const View& v, const float* dattended, float* dq) {
    const int wide = padded(longest);
    for (Floats* x : {&keys, &keys_t, &values, &values_t, &dkeys, &dvalues}) room(*x, size_t(wide) * E);
    const int group = H / K;
    for (Floats* x : {&scores, &dscores}) room(*x, size_t(group) * wide * wide);
    for (Floats* x : {&queries, &douts, &dqueries}) room(*x, size_t(group) * wide * E);
    path.resize(wide);
    for (int kv = 0; kv < K; kv++) {
      int top = 0;
      auto pop = [&](int down_to) {
        for (; top > down_to; top--) {
          float* k = dq + long(path[top - 1]) * Q + (H + kv) * E;
          memcpy(k, &dkeys[size_t(top - 1) * E], sizeof(float) * E);
          memcpy(k + K * E, &dvalues[size_t(top - 1) * E], sizeof(float) * E);
        }
      };
      for (int i = b.row0; i < b.row1; i++) {
        const Row& row = rows[i];
        pop(row.start);
        const int length = push(row, b.node0, kv, v.qkv, wide, true), own = row.end - row.node, seen = padded(length);
        const long at = row.node - b.node0;
        top = length;
        const int all = own * group;
        float *q = queries.data(), *dout = douts.data(), *s = scores.data(), *ds = dscores.data();
        stack(own, group, v.qkv + at * Q + kv * group * E, Q, q);
        stack(own, group, dattended + (at * H + kv * group) * E, H * E, dout);
        product(all, seen, E, {q, E, 1}, keys_t.data(), wide, s, seen);
        product(all, seen, E, {dout, E, 1}, values_t.data(), wide, ds, seen);
        for (long j = 0; j < all; j++) {
          const long head = (at + j / group) * H + kv * group + j % group;
          score_back(row.start + int(j) / group + 1, seen, v.attended + head * E, dout + j * E, v.lse[head], s + j * seen,
                     ds + j * seen);
        }
        product(all, E, length, {ds, seen, 1}, keys.data(), E, dqueries.data(), E);
        product(length, E, all, {ds, 1, seen}, q, E, dkeys.data(), E, true);
        product(length, E, all, {s, 1, seen}, dout, E, dvalues.data(), E, true);
        for (long j = 0; j < own; j++)
          memcpy(dq + (at + j) * Q + kv * group * E, &dqueries[j * group * E], sizeof(float) * group * E);
      }
      pop(0);
    }
  }
  // One query's scores s become weights p, and the gradients d of p those of s: p (d - sum(p d)), the sum = out dout.
  void score_back(int count, int width, const float* out, const float* dout, float lse, float* s, float* d) {
    const V mean = all(dot(out, dout, E));
    for (int i = 0; i < count; i += LANES) {
      const V p = first(count - i, exponential(load(s + i) - all(lse)), 0.f);
      store(s + i, p);
      store(d + i, first(count - i, p * (load(d + i) - mean), 0.f));
    }
    for (int i = padded(count); i < width; i += LANES) store(s + i, all(0.f)), store(d + i, all(0.f));
  }

  // ---- forward and backward pass over the trie ----

  // log pi (N x T) of each response's tokens, zeros on padding, and (if asked) values before them; `keep` for backward.
  void forward(bool keep, float* logp, float* values_out) {
    const int nodes = keep ? int(token.size()) : most_nodes;
    const size_t some_heads = keep ? heads.size() : most_heads;
    view(keep ? shape.layers : 0, nodes, 0);  // makes room for all
    room(normed, size_t(std::max(most_nodes, most_heads)) * D), room(head_n, size_t(most_heads) * D);
    room(head_h, some_heads * D), room(head_r, some_heads);
    room(logits, some_heads * vocab_wide), room(shaped, vocab_wide), room(head_lse, some_heads);
    std::vector<float> value_of(values_out ? most_heads : 0);
    std::fill(logp, logp + predictor.size(), 0.f);
    if (values_out) std::fill(values_out, values_out + predictor.size(), 0.f);
    for (const Block& b : blocks) {
      const int M = b.node1 - b.node0, A = b.head1 - b.head0;
      const long at = keep ? b.node0 : 0, at_head = keep ? b.head0 : 0;
      float* h = view(0, nodes, at).h;
      embed(M, &token[b.node0], h);
      for (int l = 0; l < shape.layers; l++) {
        const View v = view(keep ? l : 0, nodes, at);
        project(M, layers[l], v.h, &position[b.node0], v.r1, v.qkv, v.raw, v.rn);
        attend(b, v, keep);
        memcpy(v.middle, v.h, sizeof(float) * M * D);
        h = view(keep ? l + 1 : 0, nodes, at).h;
        finish(M, layers[l], v.attended, v.middle, v.r2, v.gate_up, h);
      }
      float *hidden = head_h.data() + at_head * D, *n = head_n.data();
      for (long i = 0; i < A; i++)
        memcpy(hidden + i * D, h + long(heads[b.head0 + i] - b.node0) * D, sizeof(float) * D);
      norm_rows(A, hidden, norm, head_r.data() + at_head, n);
      float *word = logits.data() + at_head * vocab_wide, *lse = head_lse.data() + at_head;
      words().apply(A, n, word);
      for (long i = 0; i < A; i++) {
        lse[i] = softmax(word + i * vocab_wide, vocab, vocab_wide, shaped.data()).log();
        if (values_out) value_of[i] = dot(n + i * D, value.w, D) + value_bias.w[0];
      }
      each_token(b, [&](size_t i, int p) {
        logp[i] = word[size_t(p) * vocab_wide + next[i]] - lse[p];
        if (values_out) values_out[i] = value_of[p];
      });
    }
  }

  // Adds to `flat` the gradient of a loss with derivatives dlogp by log pi and (if given) dvalue by values.
  void backward(const float* dlogp, const float* dvalue, long count, const Run* runs, float* flat) {
    const size_t M = most_nodes;
    clear_gradients();
    room(dlogits, size_t(most_heads) * vocab_wide), room(dhead, size_t(most_heads) * D), room(dh, M * D);
    room(dinner, M * std::max({D, F, H * E})), room(dgate_up, M * 2 * F), room(dqkv, M * Q);
    for (const Block& b : blocks) {
      const int A = b.head1 - b.head0;
      std::vector<float> sum(A), dvalue_of(A);
      bool any = false;
      each_token(b, [&](size_t i, int p) {
        sum[p] += dlogp[i];
        if (dvalue) dvalue_of[p] += dvalue[i];
        any |= dlogp[i] != 0.f || dvalue_of[p] != 0.f;
      });
      if (!any) continue;
      std::fill(dlogits.begin(), dlogits.begin() + size_t(A) * vocab_wide, 0.f);
      each_token(b, [&](size_t i, int p) { dlogits[size_t(p) * vocab_wide + next[i]] += dlogp[i]; });
      block_back(b, sum.data(), dvalue ? dvalue_of.data() : nullptr);
    }
    for (long i = 0; i < count; flat += runs[i++].length)
      for (int64_t j = 0; j < runs[i].length; j++) flat[j] += gradients[runs[i].place + j];
  }
  void block_back(const Block& b, const float* sum, const float* dvalue_of) {
    const int M = b.node1 - b.node0, A = b.head1 - b.head0;
    const float *word = logits.data() + size_t(b.head0) * vocab_wide, *hidden = head_h.data() + size_t(b.head0) * D;
    float *d = dlogits.data(), *n = head_n.data();
    for (long i = 0; i < A; i++)
      for (long j = i * vocab_wide, left = vocab; left > 0; j += LANES, left -= LANES) {
        const V p = exponential(load(word + j) - all(head_lse[b.head0 + i]));
        store(d + j, first(int(left), load(d + j) - all(sum[i]) * p, 0.f));
      }
    norm_rows(A, hidden, norm, &head_r[b.head0], n, true);
    words().back(A, d, n, dhead.data());
    for (long i = 0; dvalue_of && i < A; i++) {
      for (int j = 0; j < D; j += LANES) {
        store(value.g + j, fused(all(dvalue_of[i]), load(n + i * D + j), load(value.g + j)));
        store(&dhead[i * D + j], fused(all(dvalue_of[i]), load(value.w + j), load(&dhead[i * D + j])));
      }
      value_bias.g[0] += dvalue_of[i];
    }
    std::fill(dh.begin(), dh.begin() + size_t(M) * D, 0.f);
    for (long i = 0; i < A; i++)
      rms_back(&dhead[i * D], hidden + i * D, head_r[b.head0 + i], norm.w, D, shape.hidden,
               &dh[size_t(heads[b.head0 + i] - b.node0) * D], norm.g, false);
    for (int l = shape.layers - 1; l >= 0; l--) layer_back(b, layers[l], view(l, int(token.size()), b.node0));
    for (long m = 0; m < M; m++) {
      float* g = embedding.g + size_t(token[b.node0 + m]) * D;
      for (int i = 0; i < D; i += LANES) store(g + i, load(g + i) + load(&dh[m * D + i]));
    }
  }

  // ---- sampling ----

  size_t half_slot(const Branches& x) const { return size_t(shape.layers) * K * E * x.wide; }  // keys, then values
  float* keys_of(Branches& x, int slot, int l, int kv) {  // transposed
    return &kept[2 * slot * half_slot(x) + size_t(l * K + kv) * E * x.wide];
  }
  // The hidden state after each branch's newest token, in x.h; its keys and values go into its slot.
  void step(Branches& x) {
    const int M = int(x.token.size()), group = H / K;
    float *qkv = room(x.qkv, size_t(M) * Q), *attended = room(x.attended, size_t(M) * H * E);
    room(x.h, size_t(M) * D), room(x.r, M), room(x.gate_up, size_t(M) * 2 * F), room(normed, size_t(M) * D);
    room(x.scores, size_t(group) * x.wide);
    embed(M, x.token.data(), x.h.data());
    for (int l = 0; l < shape.layers; l++) {
      project(M, layers[l], x.h.data(), x.at.data(), x.r.data(), qkv, nullptr, nullptr);
      for (int kv = 0; kv < K; kv++) {
        for (long m = 0; m < M; m++) {  // all of a prompt's tokens are there before one of them attends
          const float *k = qkv + m * Q + (H + kv) * E, *v = k + K * E;
          float* to = keys_of(x, x.slot[m], l, kv);
          for (int e = 0; e < E; e++) to[size_t(e) * x.wide + x.at[m]] = k[e];
          memcpy(to + half_slot(x) + size_t(x.at[m]) * E, v, sizeof(float) * E);
        }
        for (long m = 0; m < M; m++) {
          const float *q = qkv + m * Q + kv * group * E, *seen_keys = keys_of(x, x.slot[m], l, kv);
          const int seen = x.at[m] + 1, width = padded(seen);
          float* s = x.scores.data();
          if (group <= 2)
            few_rows(group, width, E, {q, E, 1}, seen_keys, x.wide, s, width);
          else
            product(group, width, E, {q, E, 1}, seen_keys, x.wide, s, width);
          for (int g = 0; g < group; g++) softmax(s + g * width, seen, width, s + g * width);
          product(group, E, seen, {s, width, 1}, seen_keys + half_slot(x), E, attended + (m * H + kv * group) * E, E);
        }
      }
      finish(M, layers[l], attended, x.h.data(), x.r.data(), x.gate_up.data(), x.h.data());
    }
  }
  void copy_slot(Branches& x, int from, int to, int used) {
    for (int l = 0; l < shape.layers; l++)
      for (int kv = 0; kv < K; kv++) {
        const float* a = keys_of(x, from, l, kv);
        float* b = keys_of(x, to, l, kv);
        for (int e = 0; e < E; e++) memcpy(b + size_t(e) * x.wide, a + size_t(e) * x.wide, sizeof(float) * used);
        memcpy(b + half_slot(x), a + half_slot(x), sizeof(float) * used * E);
      }
  }
  // From logits: log p at temperature 1, its entropy, and the cumulative sampling distribution. False if not finite.
  bool distribution(const float* logit, float temperature, float top_p, float* logp, float& entropy, float* cumulative) {
    float* p = room(shaped, vocab_wide);
    const float lse = softmax(logit, vocab, vocab_wide, p).log();
    if (!std::isfinite(lse)) return false;
    V sum = all(0.f);
    for (int j = 0; j < vocab_wide; j += LANES) {
      const V x = load(logit + j) - all(lse), e = first(vocab - j, exponential(x), 0.f);
      store(logp + j, x), store(p + j, e);
      sum = sum + first(vocab - j, e * x, 0.f);
    }
    entropy = -total(sum);
    if (temperature == 0.f) {
      const long best = std::max_element(logit, logit + vocab) - logit;
      for (int v = 0; v < vocab; v++) p[v] = v == best ? 1.f : 0.f;
    } else if (temperature != 1.f || top_p < 1.f) {
      for (int j = 0; j < vocab_wide; j += LANES) store(p + j, load(logit + j) * all(1.f / temperature));
      softmax(p, vocab, vocab_wide, p);
      if (top_p < 1.f) nucleus(p, top_p);
    }
    double running = 0;
    for (int v = 0; v < vocab; v++) running += p[v], cumulative[v] = float(running);
    return std::isfinite(cumulative[vocab - 1]);  // not so where a tiny temperature overflows
  }
  // Keeps the smallest set of largest probabilities whose sum reaches top_p, of equal ones the first, and renormalises.
  void nucleus(float* p, float top_p) {
    std::vector<std::pair<int, float>> taken;
    float mass = 0.f;
    for (double reached = 0; float(reached) < top_p && int(taken.size()) < vocab;) {  // a sure policy needs few rounds
      V high = all(-1.f);
      for (int j = 0; j < vocab; j += LANES) high = larger(first(vocab - j, load(p + j), -1.f), high);
      const int v = int(std::find(p, p + vocab, highest(high)) - p);
      taken.push_back({v, p[v]});
      mass += p[v], reached += p[v], p[v] = -1.f;
    }
    std::fill(p, p + vocab, 0.f);
    for (auto [v, share] : taken) p[v] = share / mass;
  }
  // The token whose slice of the cumulative distribution holds the noise.
  int pick(const float* cumulative, double noise) const {
    const float sum = cumulative[vocab - 1], threshold = std::min(float(noise * double(sum)), std::nextafter(sum, 0.f));
    return int(std::upper_bound(cumulative, cumulative + vocab, threshold) - cumulative);
  }

  // G rollouts of at most T tokens to each of P prompts (P x L), from the noise (P x G x T). False where a distribution
  // is not finite.
  bool sample(int P, int G, int T, int L, const int64_t* prompts, const int64_t* prompt_lengths, const double* noise,
              int eos, float temperature, float top_p, const Samples& to) {
    Branches& x = branches;
    const int rollouts = P * G;
    x.wide = padded(L + T);
    room(kept, 2 * half_slot(x) * rollouts), room(x.n, size_t(rollouts) * D), room(x.r, rollouts);
    room(sampled_logits, size_t(rollouts) * vocab_wide), room(sampled_logp, size_t(rollouts) * vocab_wide);
    room(sampled_cumulative, size_t(rollouts) * vocab);
    std::vector<float> entropy(rollouts);
    std::vector<int> alive(rollouts), branch(rollouts), child(size_t(rollouts) * vocab), spare, heir(rollouts);
    for (int i = 0; i < rollouts; i++) alive[i] = i, branch[i] = i / G;
    for (int s = rollouts - 1; s >= P; s--) spare.push_back(s);
    x.token.clear(), x.at.clear(), x.slot.clear();
    for (int p = 0; p < P; p++)
      for (int i = 0; i < prompt_lengths[p]; i++)
        x.token.push_back(int(prompts[long(p) * L + i])), x.at.push_back(i), x.slot.push_back(p);
    for (int t = 0; t < T && !alive.empty(); t++) {
      step(x);
      if (t == 0) {  // from now on a branch per prompt, at its last token
        for (int p = 0, last = -1; p < P; p++) {
          last += int(prompt_lengths[p]);
          memmove(&x.h[size_t(p) * D], &x.h[size_t(last) * D], sizeof(float) * D);
          x.at[p] = x.at[last], x.slot[p] = p;
        }
        x.at.resize(P), x.slot.resize(P);
      }
      const int M = int(x.at.size());
      norm_rows(M, x.h.data(), norm, x.r.data(), x.n.data());
      words().apply(M, x.n.data(), sampled_logits.data());
      for (long m = 0; m < M; m++)
        if (!distribution(&sampled_logits[m * vocab_wide], temperature, top_p, &sampled_logp[m * vocab_wide], entropy[m],
                          &sampled_cumulative[m * vocab]))
          return false;
      std::vector<int> token, at, slot;
      std::fill(child.begin(), child.begin() + size_t(M) * vocab, -1), std::fill(heir.begin(), heir.begin() + M, 0);
      size_t left = 0;
      for (size_t i = 0; i < alive.size(); i++) {
        const long m = branch[i], rollout = alive[i], place = rollout * T + t;
        const int v = pick(&sampled_cumulative[m * vocab], noise[place]);
        to.tokens[place] = v, to.logp[place] = sampled_logp[m * vocab_wide + v], to.entropy[place] = entropy[m];
        if (v == eos || t + 1 == T) {
          to.lengths[rollout] = t + 1, to.finished[rollout] = v == eos;
          continue;
        }
        int& c = child[m * vocab + v];
        if (c < 0) {  // the first child inherits the slot, another one copies it
          c = int(token.size());
          int mine = x.slot[m];
          if (heir[m]) mine = spare.back(), spare.pop_back(), copy_slot(x, x.slot[m], mine, x.at[m] + 1);
          heir[m] = 1;
          token.push_back(v), at.push_back(x.at[m] + 1), slot.push_back(mine);
        }
        alive[left] = alive[i], branch[left++] = c;
      }
      for (int m = 0; m < M; m++)
        if (!heir[m]) spare.push_back(x.slot[m]);
      alive.resize(left), branch.resize(left);
      x.token.swap(token), x.at.swap(at), x.slot.swap(slot);
    }
    return true;
  }
};

// ---- the border: rlvr.policies.native.engine checks shapes, lengths and token ids before it calls ----

#ifndef SOURCE
#define SOURCE "unknown"
#endif
API const char* const engine_source = SOURCE;  // a digest of the sources, which the loader compares
API Engine* engine_new(const Shape* shape) { return new Engine(*shape); }
API void engine_free(Engine* e) { delete e; }
API long engine_size(const Engine* e) { return long(e->weights.size()); }
API void engine_load(Engine* e, long count, const Run* runs, const float* flat) { e->load_weights(count, runs, flat); }
API void engine_positions(Engine* e, int positions, const float* cosine, const float* sine) {
  const long count = long(positions) * (e->shape.head_dim / 2);
  e->cosine.assign(cosine, cosine + count), e->sine.assign(sine, sine + count);
}
API int engine_grow(Engine* e, int L, int N, int T, const int64_t* prompts, const int64_t* prompt_lengths,
                    const int64_t* prompt_of, const int64_t* tokens, const int64_t* lengths) {
  e->grow(L, N, T, prompts, prompt_lengths, prompt_of, tokens, lengths);
  return int(e->token.size());
}
API void engine_forward(Engine* e, int keep, float* logp, float* values) { e->forward(keep != 0, logp, values); }
API void engine_backward(Engine* e, const float* dlogp, const float* dvalues, long count, const Run* runs, float* to) {
  e->backward(dlogp, dvalues, count, runs, to);
}
API int engine_sample(Engine* e, int P, int G, int T, int L, const int64_t* prompts, const int64_t* prompt_lengths,
                      const double* noise, int eos, float temperature, float top_p, int64_t* tokens, float* logp,
                      float* entropy, int64_t* lengths, uint8_t* finished) {
  const int at_once = std::max(1, SAMPLED_ROLLOUTS / (e->weights.size() > LARGE ? 2 : 1) / G);
  for (long p = 0; p < P; p += at_once) {
    const long row = p * G, place = row * T;
    const Samples to{tokens + place, logp + place, entropy + place, lengths + row, finished + row};
    if (!e->sample(std::min(at_once, int(P - p)), G, T, L, prompts + p * L, prompt_lengths + p, noise + place, eos,
                   temperature, top_p, to))
      return 0;
  }
  return 1;
}
API void engine_product(int M, int N, int K, const float* a, const float* b, float* c) {  // for benchmarks
  product(M, N, K, {a, K, 1}, b, N, c, N);
}
