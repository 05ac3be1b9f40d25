// Whoever came in a while ago is asked again who they are before what is sensitive, and goes on where they were.
import { ada, becomeAdministrator } from "./people.mjs";
import { given, perform } from "./stage.mjs";

const providers = given.admin + "/settings/providers";

await perform(async (enter) => {
  const visitor = await enter();
  await becomeAdministrator(visitor);
  await growStale(visitor);
  await visitor.open("/account/keys");
  await visitor.look("stale", { at: "/account/keys", see: ["This needs to know that it is still you."], miss: ["Make key"] });
  await visitor.follow("Confirm it is you");
  await visitor.look("reauth", { at: "/account/reauth?returnTo=%2Faccount%2Fkeys", see: ["What you are about to do is sensitive, so we ask again."] });
  await visitor.fill({ Password: "not the password at all" });
  await visitor.press("Confirm");
  await visitor.look("reauth-refused", { at: "/account/reauth", status: 401 });
  await visitor.fill({ Password: ada.password });
  await visitor.press("Confirm");
  await visitor.see("fresh", { at: "/account/keys" });

  await growStale(visitor);
  await visitor.open(providers);
  await visitor.look("stale-admin", { at: providers, see: ["This needs to know that it is still you."], miss: ["Continue"] });
  await visitor.follow("Confirm it is you");
  await visitor.look("elevate", { at: given.admin + "/elevate?returnTo=%2Fsettings%2Fproviders", see: ["Admin acts on the whole service, so it asks again who you are."] });
  await visitor.fill({ Password: ada.password });
  await visitor.press("Confirm");
  await visitor.see("fresh on Admin", { at: providers });
});

// growStale waits until the last proof is too old.
async function growStale(visitor) {
  await visitor.page.waitForTimeout(5_100);
}
