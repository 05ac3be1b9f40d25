// Somebody scrolls up by one pixel while a reply grows: the page stays where they put it, to the end of the reply and behind it.
// only in the soak
import { perform } from "./stage.mjs";
import { begin, check, rests, say, scroller, settled } from "./chat.mjs";

// gap is how far the view is from the end when it has been drawn: text comes first, and the view follows within the frame.
const gap = (view) =>
  new Promise((done) => {
    let frames = 10;
    const look = () => {
      const left = view.scrollHeight - view.clientHeight - view.scrollTop;
      return left < 2 || --frames === 0 ? done(left) : requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });

await perform(async (enter) => {
  const visitor = await enter();
  await begin(visitor);
  await say(visitor, "n=1000");
  await settled(visitor, 1);
  await say(visitor, "n=900 delay=10");
  const top = () => scroller(visitor).evaluate((view) => view.scrollTop);
  const second = visitor.page.locator(".row-of").nth(1);
  await second.getByText("word520").waitFor();

  // It follows while nobody touches it.
  const end = await scroller(visitor).evaluate(gap);
  check(visitor, "following", end < 2, `is ${end} px from the end`);

  await scroller(visitor).hover();
  await visitor.page.mouse.wheel(0, -1);
  await visitor.page.getByRole("button", { name: "Latest" }).waitFor();
  const before = await rests(visitor);
  await second.getByText("word800").waitFor();
  check(visitor, "held", (await top()) === before, `moved from ${before} to ${await top()} while it grew`);
  await settled(visitor, 2);
  check(visitor, "held", (await top()) === before, `moved from ${before} to ${await top()} when it was complete`);
  await visitor.picture("held");

  await visitor.page.getByRole("button", { name: "Latest" }).click();
  await visitor.page.getByRole("button", { name: "Latest" }).waitFor({ state: "detached" });

  // A question that is sent stands at the top of the view.
  await say(visitor, "n=5");
  await settled(visitor, 3);
  const question = await visitor.page.locator("[data-question]").nth(2).boundingBox();
  const view = await scroller(visitor).boundingBox();
  check(visitor, "sent", question.y - view.y < 40, `the question stands ${question.y - view.y} px below the top`);
});
