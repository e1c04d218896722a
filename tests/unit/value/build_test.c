/* Building documents field by field. */
#include "tests/check.h"
#include "value/value.h"

static bytes build_sample(struct arena *arena)
{
    struct buffer out = buffer_in(arena);
    struct value number;
    bytes built;

    size_t begun = document_begin(&out);
    document_append_text(&out, "id", BYTES_LITERAL("a"));
    document_append_int64(&out, "small", -7);
    document_append_int64(&out, "large", 1LL << 40);
    document_append_bool(&out, "yes", true);
    size_t inner = document_begin_inner(&out, VALUE_ARRAY, BYTES_LITERAL("list"));
    CHECK_OK(value_of_double(arena, 1.5, &number));
    document_append(&out, BYTES_LITERAL("0"), number);
    document_end(&out, inner);
    document_append(&out, BYTES_LITERAL("gone"), (struct value){ .type = VALUE_MISSING });
    document_end(&out, begun);
    CHECK_OK(buffer_finish(&out, &built));
    return built;
}

TEST(build, what_is_built_is_what_the_json_reader_makes_of_the_same_text)
{
    struct arena *arena = arena_open(1 << 20);
    bytes built = build_sample(arena), read;

    CHECK_OK(document_check(arena, built));
    CHECK_OK(json_read(arena,
                       BYTES_LITERAL("{\"id\":\"a\",\"small\":-7,\"large\":1099511627776,"
                                     "\"yes\":true,\"list\":[1.5]}"),
                       &read));
    CHECK(bytes_equal(built, read));
    arena_close(arena);
}

TEST(build, a_text_whose_top_level_is_an_array_can_be_read)
{
    struct arena *arena = arena_open(1 << 20);
    struct field field;
    bytes array;

    CHECK_OK(json_read_array(arena, BYTES_LITERAL(" [1,{\"a\":2}] "), &array));
    struct document_walk walk = document_fields(array);
    CHECK(document_next(&walk, &field));
    CHECK(field.value.type == VALUE_INT32);
    CHECK(document_next(&walk, &field));
    CHECK(field.value.type == VALUE_DOCUMENT);
    CHECK(!document_next(&walk, &field));
    CHECK_CODE(json_read_array(arena, BYTES_LITERAL("{}"), &array), INVALID);
    CHECK_CODE(json_read_array(arena, BYTES_LITERAL("[1] 2"), &array), INVALID);
    arena_close(arena);
}
