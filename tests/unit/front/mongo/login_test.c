/* Passwords, users and what they may do. */
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "front/mongo/scram.h"
#include "tests/support/mongo_face.h"

/* ---- SCRAM ------------------------------------------------------------------------------------------ */

static void secret_of(const char *password, const char *salt_base64, uint32_t iterations,
                      struct scram_secret *out)
{
    uint8_t salted[32], client_key[32], salt[64];
    unsigned len;
    int salt_len = EVP_DecodeBlock(salt, (const uint8_t *)salt_base64, (int)strlen(salt_base64));

    while (salt_base64[strlen(salt_base64) - 1] == '=' && salt_len % 16 != 0)
        salt_len--;
    *out = (struct scram_secret){ .iterations = iterations, .salt_len = (size_t)salt_len };
    memcpy(out->salt, salt, out->salt_len);
    PKCS5_PBKDF2_HMAC(password, (int)strlen(password), salt, salt_len, (int)iterations,
                      EVP_sha256(), 32, salted);
    HMAC(EVP_sha256(), salted, 32, (const uint8_t *)"Client Key", 10, client_key, &len);
    EVP_Digest(client_key, 32, out->stored_key, NULL, EVP_sha256(), NULL);
    HMAC(EVP_sha256(), salted, 32, (const uint8_t *)"Server Key", 10, out->server_key, &len);
}

/* The example of RFC 7677, section 3. */
TEST(mongo_scram, the_example_of_the_standard_is_accepted)
{
    const struct scram_talk talk = {
        .mechanism = SCRAM_SHA_256,
        .client_first = BYTES_LITERAL("n=user,r=rOprNGfwEbeRWgbNEkqO"),
        .server_first = BYTES_LITERAL("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                                      "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
        .nonce = BYTES_LITERAL("rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"),
    };
    const char *const proofs[] = {
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "p=eHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "c=biws,r=another,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    };
    struct arena *arena = arena_open(1024 * 1024);
    struct scram_secret secret;
    bool is_proven;
    bytes reply;

    secret_of("pencil", "W22ZaJ0SNY7soEsUEjb6gQ==", 4096, &secret);
    CHECK_OK(scram_finish(arena, &talk, &secret, bytes_of_text(proofs[0]), &is_proven, &reply));
    CHECK(is_proven);
    CHECK_BYTES(reply, BYTES_LITERAL("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), "");
    CHECK_OK(scram_finish(arena, &talk, &secret, bytes_of_text(proofs[1]), &is_proven, &reply));
    CHECK(!is_proven);
    CHECK_EQ(scram_finish(arena, &talk, &secret, bytes_of_text(proofs[2]), &is_proven, &reply).code,
             INVALID, "");
    arena_close(arena);
}

TEST(mongo_scram, names_are_unescaped_and_bad_messages_refused)
{
    const struct {
        const char *message, *user;
    } rows[] = {
        {"n,,n=ann,r=abc",        "ann"  },
        { "n,,n=a=2Cb=3Dc,r=abc", "a,b=c"},
        { "n,,n=a=2,r=abc",       NULL   },
        { "y,,n=ann,r=abc",       NULL   },
        { "n,,n=ann",             NULL   },
        { "n,,r=abc",             NULL   },
        { "",                     NULL   },
    };
    struct arena *arena = arena_open(1024 * 1024);
    struct scram_first first;

    EACH_ROW(rows, r) {
        status s = scram_read_first(arena, bytes_of_text(r->message), &first);
        CHECK_EQ(s.code, r->user ? OK : INVALID, "%s", r->message);
        if (r->user)
            CHECK_BYTES(first.user, bytes_of_text(r->user), r->message);
    }
    arena_close(arena);
}

/* ---- users ------------------------------------------------------------------------------------------ */

TEST(mongo_users, users_are_made_changed_listed_and_dropped)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'ann','pwd':'secret','roles':['readWrite']}"),
                ERROR_IllegalOperation);
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'ann','pwd':'secret','roles':['userAdmin']}"),
                ERROR_IllegalOperation);
    CHECK_DONE(mongo_ask(&f, "{'ping':1}"));
    CHECK_DONE(mongo_ask(&f, "{'createUser':'root','pwd':'x','roles':['root'],'$db':'admin'}"));
    f.face->has_users = false; /* as if nobody had to say who they are */
    CHECK_DONE(mongo_ask(&f, "{'createUser':'ann','pwd':'secret','roles':['readWrite',"
                             "{'role':'read','db':'other'}],'customData':{'x':1}}"));
    f.face->has_users = false; /* as if nobody had to say who they are */
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'ann','pwd':'secret','roles':[]}"), 51003);
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'bob','pwd':'x','roles':['nonsense']}"),
                ERROR_RoleNotFound);
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'bob','pwd':'x','roles':['root']}"),
                ERROR_RoleNotFound);
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'bob','pwd':'','roles':[]}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'bob','pwd':'x'}"), ERROR_BadValue);
    struct mongo_answer info = mongo_ask(&f, "{'usersInfo':'ann'}");
    CHECK_STRING(mongo_text(&f, &info, "users.0._id"), "\"db.ann\"");
    CHECK_STRING(mongo_text(&f, &info, "users.0.roles"),
                 "[{\"role\":\"readWrite\",\"db\":\"db\"},{\"role\":\"read\",\"db\":\"other\"}]");
    CHECK_STRING(mongo_text(&f, &info, "users.0.mechanisms"),
                 "[\"SCRAM-SHA-1\",\"SCRAM-SHA-256\"]");
    CHECK_STRING(mongo_text(&f, &info, "users.0.credentials"), "");
    CHECK_DONE(mongo_ask(&f, "{'grantRolesToUser':'ann','roles':['dbAdmin','readWrite']}"));
    f.face->has_users = false;
    CHECK_DONE(
        mongo_ask(&f, "{'revokeRolesFromUser':'ann','roles':[{'role':'read','db':'other'}]}"));
    f.face->has_users = false;
    info = mongo_ask(&f, "{'usersInfo':1}");
    CHECK_STRING(mongo_text(&f, &info, "users.0.roles"),
                 "[{\"role\":\"readWrite\",\"db\":\"db\"},{\"role\":\"dbAdmin\",\"db\":\"db\"}]");
    CHECK_FAULT(mongo_ask(&f, "{'dropUser':'nobody'}"), ERROR_UserNotFound);
    CHECK_DONE(mongo_ask(&f, "{'dropUser':'ann'}"));
    f.face->has_users = false;
    CHECK_DONE(mongo_ask(&f, "{'dropUser':'root','$db':'admin'}"));
    CHECK_DONE(mongo_ask(&f, "{'ping':1}"));
    info = mongo_ask(&f, "{'usersInfo':1}");
    CHECK_STRING(mongo_text(&f, &info, "users"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_users, from_the_first_user_on_everybody_has_to_authenticate)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    f.session.is_loopback = false;
    CHECK_FAULT(mongo_ask(&f, "{'find':'c'}"), ERROR_Unauthorized);
    CHECK_DONE(mongo_ask(&f, "{'hello':1}"));
    f.session.is_loopback = true;
    CHECK_DONE(mongo_ask(&f, "{'createUser':'root','pwd':'x','roles':['root'],'$db':'admin'}"));
    CHECK_FAULT(mongo_ask(&f, "{'find':'c'}"), ERROR_Unauthorized);
    CHECK_FAULT(mongo_ask(&f, "{'createUser':'bob','pwd':'x','roles':[]}"), ERROR_Unauthorized);
    CHECK_DONE(mongo_ask(&f, "{'ping':1}"));
    mongo_face_restart(&f);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c'}"), ERROR_Unauthorized);
    mongo_face_close(&f);
}

TEST(mongo_users, the_database_of_the_server_itself_is_out_of_reach)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createUser':'root','pwd':'x','roles':['root'],'$db':'admin'}"));
    f.face->has_users = false;
    CHECK_FAULT(mongo_ask(&f, "{'find':'accounts','$db':'$mayfly'}"), ERROR_InvalidNamespace);
    CHECK_FAULT(mongo_ask(&f, "{'dropDatabase':1,'$db':'$mayfly'}"), ERROR_InvalidNamespace);
    struct mongo_answer list = mongo_ask(&f, "{'listDatabases':1,'nameOnly':true,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &list, "databases"), "[]");
    mongo_face_close(&f);
}
