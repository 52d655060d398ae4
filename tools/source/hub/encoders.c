#include "encoders.h"
#include "../ground/ground.h"
#include "family_rows.h"

/* -- encoders: BERT -------------------------------------------------------------------------- */

/* x_0 = LN(word + position + type); x = LN(x + attention(x)); x = LN(x + W_2 gelu(W_1 x)).
 * "architectures" gives the head: masked words, N(gelu(x W + b)) E^T + c; classes of a sentence,
 * tanh(x_0 W + b) W_c + c; or none. A model without a head is for its hidden states or their mean
 * (tfn_model_pool); its logits mean nothing. The type of a token is its segment, 0 by default. */
#define TFN__CLASS_HEADS \
    { "architectures=*ForSequenceClassification", "head", "sequence", TFN_KEY_NAMES }, \
    { "architectures=*ForTokenClassification", "head", "positions", TFN_KEY_NAMES }, \
    { "architectures=*ForQuestionAnswering", "head", "positions", TFN_KEY_NAMES }, \
    { "architectures=*ForQuestionAnswering", "classes", "2", TFN_KEY_NAMES },
static const tfn_key_rule tfn__encoder_keys[] = {
    { NULL, "arch", "encoder", TFN_KEY_IS },
    { NULL, "recipe", "bert", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { "intermediate_size", "ffn", NULL, TFN_KEY_IS },
    { "type_vocab_size", "segments", "2", TFN_KEY_IS },
    { "hidden_act", "activation", "gelu", TFN_KEY_IS },
    { "layer_norm_eps", "norm_eps", "1e-12", TFN_KEY_IS },
    { "position_embedding_type", NULL, "absolute", TFN_KEY_WANT },
    { "is_decoder", NULL, "false", TFN_KEY_WANT },
    { "add_cross_attention", NULL, "false", TFN_KEY_WANT },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "num_labels", "classes", "2", TFN_KEY_IS },
    { "id2label", "classes", "", TFN_KEY_ENTRIES },
    { "architectures=*ForMaskedLM", "head_transform", "true", TFN_KEY_NAMES },
    { "architectures=*ForMaskedLM", "output_bias", "true", TFN_KEY_NAMES },
    TFN__CLASS_HEADS
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__encoder_tensors[] = {
    TFN__AS_IS("embeddings.word_embeddings.weight", "embedding.weight")
    TFN__AS_IS("embeddings.position_embeddings.weight", "encoder.position.weight")
    TFN__AS_IS("embeddings.token_type_embeddings.weight", "encoder.segment.weight")
    TFN__AS_IS("embeddings.LayerNorm.*", "encoder.embedding_norm.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.self.query.*", "encoder.#.self.q.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.self.key.*", "encoder.#.self.k.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.self.value.*", "encoder.#.self.v.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.output.dense.*", "encoder.#.self.o.*")
    TFN__AS_IS("encoder.layer.#.attention.output.LayerNorm.*", "encoder.#.self.norm.*")
    TFN__TRANSPOSED("encoder.layer.#.intermediate.dense.*", "encoder.#.ffn.w1.*")
    TFN__TRANSPOSED("encoder.layer.#.output.dense.*", "encoder.#.ffn.w2.*")
    TFN__AS_IS("encoder.layer.#.output.LayerNorm.*", "encoder.#.ffn.norm.*")
    { "pooler.dense.*", "pooler.*", TFN_FORM_TRANSPOSED | TFN_FORM_SPARE, 0, 0, 0 },
    TFN__NO_WEIGHT("embeddings.position_ids")
    { NULL, NULL, 0, 0, 0, 0 }
};
static const tfn_family tfn__encoder_family = { "encoder", NULL, &tfn__shape, tfn__encoder_keys,
                                                tfn__encoder_tensors };

/* The head of masked words uses the embedding; files keep a copy under the head's name. A pooler
 * that no head reads is skipped, and so is the head for the next sentence. Files of 2018 call gains
 * and biases of norms gamma and beta. */
static const tfn_key_rule tfn__bert_keys[] = {
    TFN__CLASS("BertModel")
    { "architectures=*ForPreTraining", "head_transform", "true", TFN_KEY_NAMES },
    { "architectures=*ForPreTraining", "output_bias", "true", TFN_KEY_NAMES },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__bert_tensors[] = {
    TFN__HEAD("classifier.*", "classifier.*")
    TFN__HEAD("qa_outputs.*", "classifier.*")
    TFN__HEAD("cls.predictions.transform.dense.*", "transform.*")
    TFN__HEAD("cls.predictions.transform.LayerNorm.*", "encoder.transform_norm.*")
    TFN__HEAD("cls.predictions.bias", "output.bias")
    TFN__OUTPUT("cls.predictions.decoder.weight", "output.weight")
    TFN__NO_WEIGHT("cls.predictions.decoder.bias")
    TFN__NO_WEIGHT("cls.seq_relationship.weight")
    TFN__NO_WEIGHT("cls.seq_relationship.bias")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* RoBERTa: BERT trained longer (Liu et al. 2019), with other heads. Its positions begin after the
 * padding's id, which is 1: the first token has row 2 of the table, and max_position_embeddings
 * counts the two rows that no token uses. Tokens have one type. The head of masked words always has
 * GELU. XLM-RoBERTa and CamemBERT differ only in their words. */
static const tfn_key_rule tfn__roberta_keys[] = {
    TFN__CLASS("RobertaModel")
    { "max_position_embeddings", "context", "2", TFN_KEY_LESS },
    { "pad_token_id", NULL, "1", TFN_KEY_WANT },
    { "hidden_act", NULL, "gelu", TFN_KEY_WANT },
    { "hidden_act", "activation", "gelu", TFN_KEY_IS },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__xlm_roberta_keys[] = {
    TFN__CLASS("XLMRobertaModel")
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__camembert_keys[] = {
    TFN__CLASS("CamembertModel")
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__HEADS_OF_CLASSES \
    { "classifier.dense.*", "pooler.*", \
      TFN_FORM_TRANSPOSED | TFN_FORM_HEAD | TFN_FORM_SEQUENCE, 0, 0, 0 }, \
    { "classifier.out_proj.*", "classifier.*", \
      TFN_FORM_TRANSPOSED | TFN_FORM_HEAD | TFN_FORM_SEQUENCE, 0, 0, 0 }, \
    TFN__HEAD("classifier.*", "classifier.*") \
    TFN__HEAD("qa_outputs.*", "classifier.*")
static const tfn_tensor_rule tfn__roberta_tensors[] = {
    { "embeddings.position_embeddings.weight", "encoder.position.weight", 0, 0, 0, 2 },
    TFN__HEADS_OF_CLASSES
    TFN__HEAD("lm_head.dense.*", "transform.*")
    TFN__HEAD("lm_head.layer_norm.*", "encoder.transform_norm.*")
    TFN__HEAD("lm_head.bias", "output.bias")
    TFN__OUTPUT("lm_head.decoder.weight", "output.weight")
    TFN__NO_WEIGHT("lm_head.decoder.bias")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* ELECTRA: BERT's body, trained to find words that another model has replaced (Clark et al. 2020).
 * That model, the generator, has a head of masked words. The head that finds words is skipped.
 * Classes of a sentence are gelu(x_0 W + b) W_c + c. Small models have narrower embeddings, with
 * their own norm and a map to the width after it. */
static const tfn_key_rule tfn__electra_keys[] = {
    TFN__CLASS("ElectraModel")
    { NULL, "map_last", "true", TFN_KEY_IS },
    { "embedding_size", "embedding_size", "128", TFN_KEY_IS },
    { "hidden_act", NULL, "gelu", TFN_KEY_WANT },
    { "hidden_act", "activation", "gelu", TFN_KEY_IS },
    { "architectures=*ForSequenceClassification", "pooler", "gelu", TFN_KEY_NAMES },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__electra_tensors[] = {
    TFN__TRANSPOSED("embeddings_project.*", "encoder.project_in.*")
    TFN__HEADS_OF_CLASSES
    TFN__HEAD("generator_predictions.dense.*", "transform.*")
    TFN__HEAD("generator_predictions.LayerNorm.*", "encoder.transform_norm.*")
    TFN__HEAD("generator_lm_head.bias", "output.bias")
    TFN__OUTPUT("generator_lm_head.weight", "output.weight")
    TFN__NO_WEIGHT("discriminator_predictions.dense.*")
    TFN__NO_WEIGHT("discriminator_predictions.dense_prediction.*")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__HEADS_OF_CLASSES

/* MPNet: RoBERTa without types, with T5's numbers by distance added to the scores of every layer
 * (Song et al. 2020). The published code always has 32 buckets. */
static const tfn_key_rule tfn__mpnet_keys[] = {
    TFN__CLASS("MPNetModel")
    { NULL, "position", "learned-relative", TFN_KEY_IS },
    { NULL, "segments", "0", TFN_KEY_IS },
    { "relative_attention_num_buckets", NULL, "32", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__mpnet_tensors[] = {
    TFN__TRANSPOSED("encoder.layer.#.attention.attn.q.*", "encoder.#.self.q.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.attn.k.*", "encoder.#.self.k.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.attn.v.*", "encoder.#.self.v.*")
    TFN__TRANSPOSED("encoder.layer.#.attention.attn.o.*", "encoder.#.self.o.*")
    TFN__AS_IS("encoder.layer.#.attention.LayerNorm.*", "encoder.#.self.norm.*")
    TFN__AS_IS("encoder.relative_attention_bias.weight", "encoder.relative.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* ModernBERT: Pre-LN with rotary positions, gated units from one matrix, and no biases except that
 * of the words (Warner et al. 2024). Layers 0, 3, 6 ... are global; in the others a position reads
 * local_attention/2 positions on either side, and queries and keys rotate at another rate. The head
 * of masked words has the activation of the layers. Heads of classes have a norm of their own, or
 * pool by a mean, which no option has. */
static const tfn_key_rule tfn__modernbert_keys[] = {
    TFN__CLASS("ModernBertModel")
    { NULL, "arch", "encoder", TFN_KEY_IS },
    { NULL, "recipe", "embed-norm", TFN_KEY_IS },
    { NULL, "topology", "modernbert", TFN_KEY_IS },
    { NULL, "norm", "layernorm-gain", TFN_KEY_IS },
    { NULL, "position", "rotary", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { "intermediate_size", "ffn", NULL, TFN_KEY_IS },
    { "hidden_activation", NULL, "gelu", TFN_KEY_WANT },
    { "hidden_activation", "activation", "gelu", TFN_KEY_GATED },
    { "classifier_activation", NULL, "gelu", TFN_KEY_WANT },
    { "norm_eps", "norm_eps", "1e-5", TFN_KEY_IS },
    { "norm_bias", "norm", "layernorm", TFN_KEY_IF },
    { "attention_bias", NULL, "false", TFN_KEY_WANT },
    { "mlp_bias", NULL, "false", TFN_KEY_WANT },
    { "classifier_bias", NULL, "false", TFN_KEY_WANT },
    { "decoder_bias", NULL, "true", TFN_KEY_WANT },
    { "global_rope_theta", "rotary_base", "160000", TFN_KEY_IS },
    { "rope_parameters.full_attention.rope_theta", "rotary_base", "", TFN_KEY_IS },
    TFN__SCALING("rope_parameters.full_attention"),
    { "local_rope_theta", "window_base", "10000", TFN_KEY_IS_OR_OFF },
    { "rope_parameters.sliding_attention.rope_theta", "window_base", "", TFN_KEY_IS },
    { "rope_parameters.sliding_attention.rope_type", NULL, "default", TFN_KEY_WANT },
    { "local_attention", "window", "128", TFN_KEY_IS },
    { NULL, "window_shift", "2", TFN_KEY_IS },
    { "global_attn_every_n_layers", "window_shift", "1", TFN_KEY_LESS },
    { "global_attn_every_n_layers", "window_period", "3", TFN_KEY_IS },
    TFN__LAYER_TYPES,
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "architectures=*ForMaskedLM", "head_transform", "true", TFN_KEY_NAMES },
    { "architectures=*ForMaskedLM", "output_bias", "true", TFN_KEY_NAMES },
    { "architectures=*ForSequenceClassification", NULL, "a class without classes", TFN_KEY_NAMES },
    { "architectures=*ForTokenClassification", NULL, "a class without classes", TFN_KEY_NAMES },
    { "architectures=*ForQuestionAnswering", NULL, "a class without classes", TFN_KEY_NAMES },
    { "architectures=*ForMultipleChoice", NULL, "a class without classes", TFN_KEY_NAMES },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__MODERN(part) { "layers.#.attn.Wqkv.weight", "encoder.#.self." #part ".weight"
static const tfn_tensor_rule tfn__modernbert_tensors[] = {
    TFN__AS_IS("embeddings.tok_embeddings.weight", "embedding.weight")
    TFN__AS_IS("embeddings.norm.*", "encoder.embedding_norm.*")
    TFN__AS_IS("layers.#.attn_norm.*", "encoder.#.self.norm_in.*")
    TFN__MODERN(q), TFN_FORM_TRANSPOSED, 0, 3, 0 },
    TFN__MODERN(k), TFN_FORM_TRANSPOSED, 1, 3, 0 },
    TFN__MODERN(v), TFN_FORM_TRANSPOSED, 2, 3, 0 },
    TFN__TRANSPOSED("layers.#.attn.Wo.weight", "encoder.#.self.o.weight")
    TFN__AS_IS("layers.#.mlp_norm.*", "encoder.#.ffn.norm_in.*")
    { "layers.#.mlp.Wi.weight", "encoder.#.ffn.w1.weight", TFN_FORM_TRANSPOSED, 0, 2, 0 },
    { "layers.#.mlp.Wi.weight", "encoder.#.ffn.w3.weight", TFN_FORM_TRANSPOSED, 1, 2, 0 },
    TFN__TRANSPOSED("layers.#.mlp.Wo.weight", "encoder.#.ffn.w2.weight")
    TFN__AS_IS("final_norm.*", "encoder.final_norm.*")
    TFN__HEAD("head.dense.weight", "transform.weight")
    TFN__HEAD("head.norm.*", "encoder.transform_norm.*")
    TFN__HEAD("decoder.bias", "output.bias")
    TFN__OUTPUT("decoder.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__MODERN

/* DistilBERT: BERT with half of the layers and no types (Sanh et al. 2019). The classes are
 * max(x_0 W + b, 0) W_c + c. */
static const tfn_key_rule tfn__distilbert_keys[] = {
    TFN__CLASS("DistilBertModel")
    { NULL, "arch", "encoder", TFN_KEY_IS },
    { NULL, "recipe", "bert", TFN_KEY_IS },
    { NULL, "position", "learned", TFN_KEY_IS },
    { NULL, "norm_eps", "1e-12", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "context", NULL, TFN_KEY_IS },
    { "dim", "width", NULL, TFN_KEY_IS },
    { "hidden_dim", "ffn", NULL, TFN_KEY_IS },
    { "n_layers", "layers", NULL, TFN_KEY_IS },
    { "n_heads", "heads", NULL, TFN_KEY_IS },
    { "activation", "activation", "gelu", TFN_KEY_IS },
    { "num_labels", "classes", "2", TFN_KEY_IS },
    { "id2label", "classes", "", TFN_KEY_ENTRIES },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "architectures=*ForMaskedLM", "head_transform", "true", TFN_KEY_NAMES },
    { "architectures=*ForMaskedLM", "output_bias", "true", TFN_KEY_NAMES },
    TFN__CLASS_HEADS
    { "architectures=*ForSequenceClassification", "pooler", "relu", TFN_KEY_NAMES },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__distilbert_tensors[] = {
    TFN__AS_IS("embeddings.word_embeddings.weight", "embedding.weight")
    TFN__AS_IS("embeddings.position_embeddings.weight", "encoder.position.weight")
    TFN__AS_IS("embeddings.LayerNorm.*", "encoder.embedding_norm.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.q_lin.*", "encoder.#.self.q.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.k_lin.*", "encoder.#.self.k.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.v_lin.*", "encoder.#.self.v.*")
    TFN__TRANSPOSED("transformer.layer.#.attention.out_lin.*", "encoder.#.self.o.*")
    TFN__AS_IS("transformer.layer.#.sa_layer_norm.*", "encoder.#.self.norm.*")
    TFN__TRANSPOSED("transformer.layer.#.ffn.lin1.*", "encoder.#.ffn.w1.*")
    TFN__TRANSPOSED("transformer.layer.#.ffn.lin2.*", "encoder.#.ffn.w2.*")
    TFN__AS_IS("transformer.layer.#.output_layer_norm.*", "encoder.#.ffn.norm.*")
    TFN__HEAD("pre_classifier.*", "pooler.*")
    TFN__HEAD("classifier.*", "classifier.*")
    TFN__HEAD("qa_outputs.*", "classifier.*")
    TFN__HEAD("vocab_transform.*", "transform.*")
    TFN__HEAD("vocab_layer_norm.*", "encoder.transform_norm.*")
    TFN__HEAD("vocab_projector.bias", "output.bias")
    TFN__OUTPUT("vocab_projector.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* -- encoders: Marian, BART, T5 -------------------------------------------------------------- */

/* Fairseq's encoder-decoder: encoder and decoder differ only in their depth. A norm has one name in
 * files, whether it is before a branch or after the sum; a model has either norm_in or norm. */
static const tfn_key_rule tfn__pair_keys[] = {
    { NULL, "arch", "encoder-decoder", TFN_KEY_IS },
    { NULL, "norm_eps", "1e-5", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "context", NULL, TFN_KEY_IS },
    { "max_position_embeddings", "source_context", NULL, TFN_KEY_IS },
    { "d_model", "width", NULL, TFN_KEY_IS },
    { "encoder_layers", "layers", NULL, TFN_KEY_IS },
    { "decoder_layers", "decoder_layers", NULL, TFN_KEY_IS },
    { "encoder_attention_heads", "heads", NULL, TFN_KEY_IS },
    { "decoder_attention_heads", "heads", NULL, TFN_KEY_SAME },
    { "encoder_ffn_dim", "ffn", NULL, TFN_KEY_IS },
    { "decoder_ffn_dim", "ffn", NULL, TFN_KEY_SAME },
    { "activation_function", "activation", "gelu", TFN_KEY_IS },
    { "scale_embedding", "scale_embedding", "false", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "is_encoder_decoder", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__PAIR_STACK(stack) \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.q_proj.*", stack ".#.self.q.*") \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.k_proj.*", stack ".#.self.k.*") \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.v_proj.*", stack ".#.self.v.*") \
    TFN__TRANSPOSED(stack ".layers.#.self_attn.out_proj.*", stack ".#.self.o.*") \
    TFN__AS_IS(stack ".layers.#.self_attn_layer_norm.*", stack ".#.self.norm.*") \
    TFN__AS_IS(stack ".layers.#.self_attn_layer_norm.*", stack ".#.self.norm_in.*") \
    TFN__TRANSPOSED(stack ".layers.#.fc1.*", stack ".#.ffn.w1.*") \
    TFN__TRANSPOSED(stack ".layers.#.fc2.*", stack ".#.ffn.w2.*") \
    TFN__AS_IS(stack ".layers.#.final_layer_norm.*", stack ".#.ffn.norm.*") \
    TFN__AS_IS(stack ".layers.#.final_layer_norm.*", stack ".#.ffn.norm_in.*") \
    TFN__AS_IS(stack ".layernorm_embedding.*", stack ".embedding_norm.*") \
    TFN__AS_IS(stack ".layer_norm.*", stack ".final_norm.*")
static const tfn_tensor_rule tfn__pair_tensors[] = {
    { "decoder.embed_tokens.weight", "embedding.weight", TFN_FORM_APART | TFN_FORM_SPARE, 0, 0,
      0 },
    { "encoder.embed_tokens.weight", "encoder.embedding.weight", TFN_FORM_SPARE, 0, 0, 0 },
    TFN__AS_IS("shared.weight", "embedding.weight")
    TFN__PAIR_STACK("encoder")
    TFN__PAIR_STACK("decoder")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.q_proj.*", "decoder.#.cross.q.*")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.k_proj.*", "decoder.#.cross.k.*")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.v_proj.*", "decoder.#.cross.v.*")
    TFN__TRANSPOSED("decoder.layers.#.encoder_attn.out_proj.*", "decoder.#.cross.o.*")
    TFN__AS_IS("decoder.layers.#.encoder_attn_layer_norm.*", "decoder.#.cross.norm.*")
    TFN__AS_IS("decoder.layers.#.encoder_attn_layer_norm.*", "decoder.#.cross.norm_in.*")
    { "final_logits_bias", "output.bias", TFN_FORM_HEAD | TFN_FORM_ROW, 0, 0, 0 },
    TFN__OUTPUT("lm_head.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__PAIR_STACK
static const tfn_family tfn__pair_family = { "pair", NULL, NULL, tfn__pair_keys,
                                             tfn__pair_tensors };

/* Marian: the Transformer of 2017, Post-LN, with a bias of the logits. Files also keep the
 * sinusoids, which equal those of this library. */
static const tfn_key_rule tfn__marian_keys[] = {
    TFN__CLASS("MarianMTModel")
    { NULL, "recipe", "post", TFN_KEY_IS },
    { NULL, "position", "sinusoidal", TFN_KEY_IS },
    { NULL, "output_bias", "true", TFN_KEY_IS },
    { "decoder_vocab_size", "vocab", "", TFN_KEY_SAME },
    { "share_encoder_decoder_embeddings", "separate_source", "true", TFN_KEY_NOT },
    { "normalize_before", NULL, "false", TFN_KEY_WANT },
    { "normalize_embedding", NULL, "false", TFN_KEY_WANT },
    { "add_final_layer_norm", NULL, "false", TFN_KEY_WANT },
    { "add_bias_logits", NULL, "false", TFN_KEY_WANT },
    { "static_position_embeddings", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__marian_tensors[] = {
    TFN__NO_WEIGHT("encoder.embed_positions.weight")
    TFN__NO_WEIGHT("decoder.embed_positions.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* BART: Post-LN with a norm of the embeddings; the first position has row 2 of the table (Lewis et
 * al. 2019). mBART is Pre-LN, with a norm at the end of each stack (Liu et al. 2020). The classes
 * with a head of words have a bias of the logits, the others none. */
#define TFN__LEARNED_PAIR \
    { NULL, "position", "learned", TFN_KEY_IS }, \
    { NULL, "output_bias", "false", TFN_KEY_IS }, \
    { "architectures=*ForConditionalGeneration", "output_bias", "true", TFN_KEY_NAMES }, \
    { "normalize_embedding", NULL, "true", TFN_KEY_WANT }, \
    { "add_bias_logits", NULL, "false", TFN_KEY_WANT }, \
    { "static_position_embeddings", NULL, "false", TFN_KEY_WANT },
static const tfn_key_rule tfn__bart_keys[] = {
    TFN__CLASS("BartModel")
    { NULL, "recipe", "bert", TFN_KEY_IS },
    TFN__LEARNED_PAIR
    { "normalize_before", NULL, "false", TFN_KEY_WANT },
    { "add_final_layer_norm", NULL, "false", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_key_rule tfn__mbart_keys[] = {
    TFN__CLASS("MBartModel")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "topology", "pre-embed-norm", TFN_KEY_IS },
    TFN__LEARNED_PAIR
    { "normalize_before", NULL, "true", TFN_KEY_WANT },
    { "add_final_layer_norm", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#undef TFN__LEARNED_PAIR
static const tfn_tensor_rule tfn__bart_tensors[] = {
    { "encoder.embed_positions.weight", "encoder.position.weight", 0, 0, 0, 2 },
    { "decoder.embed_positions.weight", "decoder.position.weight", 0, 0, 0, 2 },
    { NULL, NULL, 0, 0, 0, 0 }
};

/* M2M-100 and NLLB: Pre-LN with fairseq's sinusoids, which begin after the padding's id, and no
 * norm of the embeddings (Fan et al. 2020). Some files keep the sinusoids. */
static const tfn_key_rule tfn__m2m_keys[] = {
    TFN__CLASS("M2M100ForConditionalGeneration")
    { NULL, "recipe", "pre", TFN_KEY_IS },
    { NULL, "position", "fairseq", TFN_KEY_IS },
    { "activation_function", "activation", "relu", TFN_KEY_IS },
    { "scale_embedding", "scale_embedding", "true", TFN_KEY_IS },
    { "pad_token_id", NULL, "1", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
static const tfn_tensor_rule tfn__m2m_tensors[] = {
    TFN__NO_WEIGHT("encoder.embed_positions.weights")
    TFN__NO_WEIGHT("decoder.embed_positions.weights")
    { NULL, NULL, 0, 0, 0, 0 }
};

/* T5: Pre-LN with RMSNorm and no biases. Scores are not scaled; each bucket of distances adds a
 * number, shared by all layers of a stack. Files have these numbers in layer 0; the first files
 * also have them in the first cross-attention, where nothing reads them. If the embedding is the
 * output matrix, it reads x/sqrt(C), unless a file of transformers 5 says otherwise:
 * scale_decoder_outputs overrides tie_word_embeddings. Version 1.1 and Flan have gated hidden
 * layers, with wi_0 and wi_1 instead of wi, and their own output matrix. T5's positions have no
 * limit; n_positions is the length of its training texts. */
static const tfn_key_rule tfn__t5_keys[] = {
    TFN__CLASS("T5ForConditionalGeneration")
    { NULL, "arch", "encoder-decoder", TFN_KEY_IS },
    { NULL, "recipe", "pre-rms", TFN_KEY_IS },
    { NULL, "position", "relative", TFN_KEY_IS },
    { NULL, "score_scale", "1", TFN_KEY_IS },
    { NULL, "no_bias", "true", TFN_KEY_IS },
    { "vocab_size", "vocab", NULL, TFN_KEY_IS },
    { "n_positions", "context", "512", TFN_KEY_IS },
    { "n_positions", "source_context", "512", TFN_KEY_IS },
    { "d_model", "width", NULL, TFN_KEY_IS },
    { "d_kv", "head_size", "64", TFN_KEY_IS },
    { "d_ff", "ffn", NULL, TFN_KEY_IS },
    { "num_layers", "layers", NULL, TFN_KEY_IS },
    { "num_decoder_layers", "decoder_layers", "", TFN_KEY_IS },
    { "num_heads", "heads", NULL, TFN_KEY_IS },
    { "relative_attention_num_buckets", "relative_buckets", "32", TFN_KEY_IS },
    { "relative_attention_max_distance", "relative_distance", "128", TFN_KEY_IS },
    { "layer_norm_epsilon", "norm_eps", "1e-6", TFN_KEY_IS },
    { "feed_forward_proj", "activation", "relu", TFN_KEY_IS },
    { "tie_word_embeddings", "scale_output", "true", TFN_KEY_IS },
    { "scale_decoder_outputs", "scale_output", "", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "true", TFN_KEY_NOT },
    { "is_encoder_decoder", NULL, "true", TFN_KEY_WANT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
/* mT5 is T5 1.1 for a hundred languages. */
static const tfn_key_rule tfn__mt5_keys[] = {
    TFN__CLASS("MT5ForConditionalGeneration")
    { "feed_forward_proj", "activation", "gated-gelu", TFN_KEY_IS },
    { "tie_word_embeddings", "scale_output", "false", TFN_KEY_IS },
    { "scale_decoder_outputs", "scale_output", "", TFN_KEY_IS },
    { "tie_word_embeddings", "untied", "false", TFN_KEY_NOT },
    { NULL, NULL, NULL, TFN_KEY_IS }
};
#define TFN__T5_STACK(stack, ffn) \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.q.weight", stack ".#.self.q.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.k.weight", stack ".#.self.k.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.v.weight", stack ".#.self.v.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer.0.SelfAttention.o.weight", stack ".#.self.o.weight") \
    TFN__AS_IS(stack ".block.#.layer.0.layer_norm.weight", stack ".#.self.norm_in.weight") \
    TFN__AS_IS(stack ".block.0.layer.0.SelfAttention.relative_attention_bias.weight", \
               stack ".relative.weight") \
    { stack ".block.#.layer." ffn ".DenseReluDense.wi_0.weight", stack ".#.ffn.w1.weight", \
      TFN_FORM_TRANSPOSED | TFN_FORM_GATED, 0, 0, 0 }, \
    TFN__TRANSPOSED(stack ".block.#.layer." ffn ".DenseReluDense.wi.weight", \
                    stack ".#.ffn.w1.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer." ffn ".DenseReluDense.wi_1.weight", \
                    stack ".#.ffn.w3.weight") \
    TFN__TRANSPOSED(stack ".block.#.layer." ffn ".DenseReluDense.wo.weight", \
                    stack ".#.ffn.w2.weight") \
    TFN__AS_IS(stack ".block.#.layer." ffn ".layer_norm.weight", stack ".#.ffn.norm_in.weight") \
    TFN__AS_IS(stack ".final_layer_norm.weight", stack ".final_norm.weight") \
    TFN__NO_WEIGHT(stack ".embed_tokens.weight")
static const tfn_tensor_rule tfn__t5_tensors[] = {
    TFN__AS_IS("shared.weight", "embedding.weight")
    TFN__T5_STACK("encoder", "1")
    TFN__T5_STACK("decoder", "2")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.q.weight", "decoder.#.cross.q.weight")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.k.weight", "decoder.#.cross.k.weight")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.v.weight", "decoder.#.cross.v.weight")
    TFN__TRANSPOSED("decoder.block.#.layer.1.EncDecAttention.o.weight", "decoder.#.cross.o.weight")
    TFN__AS_IS("decoder.block.#.layer.1.layer_norm.weight", "decoder.#.cross.norm_in.weight")
    TFN__NO_WEIGHT("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")
    TFN__OUTPUT("lm_head.weight", "output.weight")
    { NULL, NULL, 0, 0, 0, 0 }
};
#undef TFN__T5_STACK

/* -- encoders: the table --------------------------------------------------------------------- */

#define TFN__LIKE(name) (tfn__encoder_families + TFN__FAMILY_##name)
#define TFN__FAMILY_NUMBER(number, name, prefix, like, keys, tensors) TFN__FAMILY_##number,
enum { TFN__ENCODER_LIST(TFN__FAMILY_NUMBER) TFN__ENCODER_FAMILIES };
#undef TFN__FAMILY_NUMBER
#define TFN__FAMILY_ROW(number, name, prefix, like, keys, tensors) \
    { name, prefix, like, keys, tensors },
SHARED const tfn_family tfn__encoder_families[TFN__ENCODER_FAMILIES + 1] = {
    TFN__ENCODER_LIST(TFN__FAMILY_ROW) { NULL, NULL, NULL, NULL, NULL }
};
#undef TFN__FAMILY_ROW
#undef TFN__LIKE
